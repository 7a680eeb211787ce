// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package stage

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picketd/picket/proof/history"
)

// journalPath is where programs look for journald. /run is the world's own, so all daemons find this one.
const journalPath = "/run/systemd/journal/socket"

// journal stands in for journald. It keeps the records of the audit, and no line of the logs.
type journal struct {
	conn    *net.UnixConn
	log     *history.Log
	pids    *sync.Map // of daemons: int to the host's name
	reading sync.WaitGroup
}

func newJournal(log *history.Log, pids *sync.Map) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(journalPath), 0o755); err != nil {
		return nil, err
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: journalPath, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	raw, err := conn.SyscallConn()
	if err == nil {
		err = errors.Join(raw.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20))
		}), err)
	}
	j := &journal{conn: conn, log: log.As("journal"), pids: pids}
	j.reading.Go(j.read)
	return j, err
}

// read goes on until the socket is closed.
func (j *journal) read() {
	datagram, rights := make([]byte, 1<<20), make([]byte, 1024)
	for {
		n, oob, _, _, err := j.conn.ReadMsgUnix(datagram, rights)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		must(err)
		at := history.Now()
		pid, file := peer(rights[:oob])
		entry := datagram[:n]
		if file != nil {
			entry, err = io.ReadAll(io.NewSectionReader(file, 0, 1<<30))
			must(errors.Join(err, file.Close()))
		}
		if fields := parseEntry(string(entry)); fields["PICKET_SEQ"] != "" {
			host, _ := j.pids.Load(pid)
			name, _ := host.(string)
			j.log.Write(history.Record{At: at, Audit: &history.Audit{Host: name, Fields: fields}})
		}
	}
}

// peer is who sent a datagram, and the file that is handed over when an entry is too long for one; nil: none.
func peer(rights []byte) (pid int, file *os.File) {
	messages, err := unix.ParseSocketControlMessage(rights)
	must(err)
	for _, m := range messages {
		if c, err := unix.ParseUnixCredentials(&m); err == nil {
			pid = int(c.Pid)
		}
		if fds, err := unix.ParseUnixRights(&m); err == nil {
			for _, fd := range fds {
				file = os.NewFile(uintptr(fd), "journal entry")
			}
		}
	}
	return pid, file
}

// parseEntry reads an entry of journald's native protocol, https://systemd.io/JOURNAL_NATIVE_PROTOCOL: lines NAME=VALUE, and values of
// several lines as NAME, a length of 8 bytes, and the value.
func parseEntry(entry string) map[string]string {
	fields := map[string]string{}
	for entry != "" {
		line, rest, _ := strings.Cut(entry, "\n")
		name, value, short := strings.Cut(line, "=")
		if !short && len(rest) >= 8 {
			long := binary.LittleEndian.Uint64([]byte(rest[:8]))
			if long > uint64(len(rest)-8) {
				return fields
			}
			value, rest = rest[8:8+long], strings.TrimPrefix(rest[8+long:], "\n")
		}
		fields[name] = value
		entry = rest
	}
	return fields
}

// quiet is how long no record comes when all daemons have ended and all that they sent was read.
const quiet = 50 * time.Millisecond

func (j *journal) close() {
	time.Sleep(quiet)
	_ = j.conn.Close()
	j.reading.Wait()
	_ = os.Remove(journalPath)
}
