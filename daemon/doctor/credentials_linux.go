// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"bytes"
	"cmp"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	credentials    = "/etc/picket/credentials"
	credentialMost = 1 << 20 // bytes that systemd hands over as one credential (systemd.exec(5))
	credentialExit = 243     // what systemd ends a service with that cannot have its credentials
	startAgain     = "systemctl reset-failed picketd.socket picketd.service; systemctl stop picketd.socket picketd.service; systemctl start picketd.socket picketd.service"
)

var credentialForm = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// credentials looks at the files that systemd hands over, if this user may.
func (v *visit) credentials(ctx context.Context) {
	if os.Geteuid() != 0 || askSystemd(ctx, "picketd.service") == nil {
		return
	}
	if _, err := os.Stat(credentials); err != nil {
		v.wrong("credentials", "install -d -m 700 "+credentials+", even if it stays empty", "systemd starts no daemon without the folder: %v", err)
		return
	}
	_ = filepath.WalkDir(credentials, func(path string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() {
			return nil //nolint:nilerr // a folder is gone again
		}
		if !credentialForm.MatchString(f.Name()) {
			v.wrong("credentials", "rename it: letters, digits, . _ and - only", "systemd cannot hand over %q", path)
		}
		if info, err := os.Stat(path); err == nil && info.Size() > credentialMost {
			v.wrong("credentials", "take it away: a secret is a line", "systemd cannot hand over %s, which has more than %d bytes", path, credentialMost)
		}
		return nil
	})
}

// rights has the daemon's user check the configuration, and where its state is, which root's rights tell nothing about.
func (v *visit) rights(ctx context.Context) {
	u := askSystemd(ctx, "picketd.service")
	if os.Geteuid() != 0 || u == nil || u["User"] == "" {
		return
	}
	name := u["User"]
	who, err := user.Lookup(name)
	if err != nil {
		v.wrong("user", "systemd-sysusers picket.conf", "%v", err)
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.CommandContext(ctx, self, "daemon", "--check", "--stale-credentials", "--config", v.c.File)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(number(who.Uid)), Gid: uint32(number(who.Gid))}}
	cmd.Dir, cmd.WaitDelay = "/", time.Second
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		found := cmp.Or(strings.TrimPrefix(strings.ReplaceAll(strings.TrimSpace(said.String()), "\npicket: ", "\n"), "picket: "), err.Error())
		v.wrong("rights", "", "user %s, which is the daemon's: %s", name, found)
		return
	}
	v.ok("rights", "user %s, which is the daemon's, can read and write what it must", name)
}
