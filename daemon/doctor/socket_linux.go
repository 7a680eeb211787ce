// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/picketd/picket/daemon"
)

// socket looks at the file that agents connect to.
func (v *visit) socket(ctx context.Context) {
	path := v.c.Socket
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.wrong("socket", whereSocket(ctx, path), "there is none at %s", path)
		return
	case err != nil:
		v.wrong("socket", "its folder must let this user pass", "%v", err)
		return
	case info.Mode().Type() != fs.ModeSocket:
		v.wrong("socket", "name the daemon's socket: --socket, PICKET_SOCKET", "%s is no socket", path)
		return
	}
	mode := fmt.Sprintf("%s, mode %04o, of %s", path, info.Mode().Perm(), ownership(info))
	if info.Mode()&0o002 != 0 {
		v.warn("socket", `write socket.mode = "0660"`, "%s: every user of this host may connect", mode)
		return
	}
	v.ok("socket", "%s", mode)
}

// whereSocket says what would be right when nobody listens at a path.
func whereSocket(ctx context.Context, path string) string {
	u := askSystemd(ctx, "picketd.socket")
	if u == nil || !u.active() {
		return "start the daemon (systemctl start picketd), or name its socket: --socket, PICKET_SOCKET"
	}
	var listens []string
	for listen := range strings.SplitSeq(u["Listen"], "\n") {
		listens = append(listens, strings.TrimSuffix(listen, " (Stream)"))
	}
	if slices.Contains(listens, path) {
		return "systemctl restart picketd.socket"
	}
	return fmt.Sprintf("systemd has it at %s: name that to agents by PICKET_SOCKET, and in a drop-in to picket-run.service", strings.Join(listens, " and "))
}

func ownership(info fs.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	return daemon.UserName(st.Uid) + ":" + daemon.GroupName(fmt.Sprint(st.Gid))
}

// access says why this user was not let in.
func (v *visit) access(path string) {
	name := daemon.UserName(uint32(os.Geteuid()))
	info, err := os.Stat(path)
	if err != nil {
		v.wrong("access", "its folder must let this user pass", "%s may not connect: %v", name, err)
		return
	}
	gid := info.Sys().(*syscall.Stat_t).Gid
	group := daemon.GroupName(fmt.Sprint(gid))
	right := fmt.Sprintf("usermod -aG %s %s, and log in again", group, name)
	switch u, err := user.Current(); {
	case info.Mode()&0o020 == 0:
		right = fmt.Sprintf("write socket.mode = \"0660\" and a socket.group that %s is in", name)
	case err == nil && isMember(u, gid):
		right = "log in again: the group was given after this login (id shows what this process has)"
	}
	v.wrong("access", right, "%s may not connect to %s, which is of %s", name, path, ownership(info))
}

// isMember reports whether the user's entry has the group, be it that this process has not.
func isMember(u *user.User, gid uint32) bool {
	groups, err := u.GroupIds()
	return err == nil && slices.Contains(groups, strconv.FormatUint(uint64(gid), 10))
}
