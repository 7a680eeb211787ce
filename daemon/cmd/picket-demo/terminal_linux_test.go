// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// On a terminal the demo ends with pages that show the frozen writer, and Ctrl-C leaves nothing behind.
func TestDemoOnATerminalEndsWithPages(t *testing.T) {
	t.Parallel()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	person := os.NewFile(uintptr(fd), "ptmx")
	defer person.Close()
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd, folder := setup(t)
	var errs, seen output
	cmd.Stdout, cmd.Stderr = terminal, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	go func() { _, _ = io.Copy(&seen, person) }() // ends with an error when the demo has left the terminal
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?secret=\w+`)
	for end := time.Now().Add(2 * time.Minute); !strings.Contains(seen.String(), "Ctrl-C"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatalf("it does not end with pages: %s%s", seen.String(), errs.String())
		}
	}
	jar, _ := cookiejar.New(nil)
	browser := &http.Client{Jar: jar}
	defer browser.CloseIdleConnections()
	page := func(address string) string {
		resp, err := browser.Get(address)
		if err != nil {
			t.Error(err)
			return ""
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return string(body)
	}
	first := address.FindString(seen.String())
	root, _, _ := strings.Cut(first, "/?")
	if got := page(first); !strings.Contains(got, ">scan-01</a>") {
		t.Errorf("the first page is %s", got)
	}
	if got := page(root + "/ticket?asset=db-01&task=w48"); !strings.Contains(got, "scan-01 wanted to record ASSET_OFFLINE") {
		t.Errorf("the frozen writer's ticket is %s", got)
	}
	_ = cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v: %s", err, errs.String())
	}
	nothingLeft(t, folder)
}
