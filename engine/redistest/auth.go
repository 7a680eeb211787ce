// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package redistest

import "strings"

// Password are arguments for Start that make the default user need a password.
func Password(password string) []string { return []string{"--requirepass", password} }

// User are arguments for Start that switch the default user off and make another one that may do everything.
func User(name, password string) []string {
	return []string{"--user", "default", "off", "--user", name, "on", ">" + password, "~*", "&*", "+@all"}
}

// credentials finds in a server's arguments how to log in.
func credentials(args []string) (user, password string) {
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "--requirepass":
			password = args[i+1]
		case "--user":
			if i+3 < len(args) && args[i+2] == "on" {
				user, password = args[i+1], strings.TrimPrefix(args[i+3], ">")
			}
		}
	}
	return user, password
}
