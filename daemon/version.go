// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

// VersionInfo says which build this is.
type VersionInfo struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"go_version"`
}

// Version is this build's. The linker sets it (-X github.com/picketd/picket/daemon.version=…); otherwise it is what Go recorded.
func Version() VersionInfo { panic("contract") }
