// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package daemon

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"sync"
)

// Set by the linker: -X github.com/picketd/picket/daemon.version=1.2.3 -X github.com/picketd/picket/daemon.commit=…
var (
	version string
	commit  string
)

// VersionInfo says which build this is.
type VersionInfo struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	GoVersion string `json:"go_version"`
}

// Version is this build's: what the linker was told, otherwise what Go recorded, otherwise "devel" of commit "unknown".
var Version = sync.OnceValue(func() VersionInfo {
	v := VersionInfo{Version: version, Commit: commit, GoVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "(devel)" {
			v.Version = cmp.Or(v.Version, info.Main.Version)
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = cmp.Or(v.Commit, s.Value)
			}
		}
	}
	v.Version, v.Commit = cmp.Or(v.Version, "devel"), cmp.Or(v.Commit, "unknown")
	return v
})
