// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"cmp"
	"fmt"
	"os"

	"github.com/picketd/picket/agent/strict"
)

const defaultConfigFile = "/etc/picket/picket.toml"

// LoadConfig reads and validates the file at path; an empty path means $PICKET_CONFIG, else /etc/picket/picket.toml. Its error
// is an ErrConfig, a line for each thing that is wrong.
func LoadConfig(path string) (Config, error) {
	return loadConfig(path, checker{})
}

// LoadConfigStaleCredentials is LoadConfig for a process of the service that has not been restarted: systemd hands over
// credentials at a start, so those that it sees are of the last one, and none is read.
func LoadConfigStaleCredentials(path string) (Config, error) {
	return loadConfig(path, checker{staleCredentials: true})
}

func loadConfig(path string, k checker) (Config, error) {
	path = cmp.Or(path, os.Getenv("PICKET_CONFIG"), defaultConfigFile)
	doc, err := os.ReadFile(path)
	if err != nil {
		return Config{}, strict.Error{fmt.Sprintf("cannot read the configuration: %v", err)}
	}
	c, lines, problems, read := parseConfig(doc)
	if !read {
		return Config{}, strict.Located(path, lines, problems)
	}
	problems = strict.Beside(problems, c.check(k)) // whatever else is wrong, so that all is told at once
	c.path = path
	return c, strict.Located(path, lines, problems)
}

// parseConfig reads a document without asking whether its values make sense.
func parseConfig(doc []byte) (c Config, lines map[string]int, problems []problem, read bool) {
	c = DefaultConfig()
	lines, problems, read = strict.Decode(doc, &c)
	_, c.adminGroupSet = lines["admin_group"]
	_, c.Socket.groupSet = lines["socket.group"]
	for i := range c.Channels {
		c.Channels[i] = c.Channels[i].WithDefaults()
	}
	return c, lines, problems, read
}
