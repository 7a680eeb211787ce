// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package outbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// The buckets. Each value has its checksum before it (seal.go). Bodies are apart from what changes, so that no update writes them again; the last three are indexes. ID and CHANNEL hold no zero byte; TIME is eight bytes, so that keys sort by it.
var (
	metaBucket    = []byte("meta")
	intentsBucket = []byte("intents") // ID → head; ID 0 CHANNEL → Delivery
	bodiesBucket  = []byte("bodies")  // ID 0 → content; ID 0 CHANNEL → body
	dueBucket     = []byte("due")     // TIME ID 0 CHANNEL → TICKET
	ticketsBucket = []byte("tickets") // TICKET 0 TIME ID
	orderBucket   = []byte("order")   // ORIGIN TIME ID → tally; of closed ones, when they were closed

	buckets = [][]byte{intentsBucket, bodiesBucket, dueBucket, ticketsBucket, orderBucket}

	versionKey    = []byte("version") // the one record without a checksum, so that every program can read it
	versionSumKey = []byte("version_sum")
	idKey         = []byte("id")
)

// head is an intent without its channels, as it stands in the file.
type head struct {
	Intent
	ClosedAt time.Time `json:"closed_at,omitzero"`
	Size     int64     `json:"size,omitempty"` // about what it takes in the file until it is closed, in bytes
	Parts    int       `json:"parts"`          // how many channels it has here,
	Bodies   int       `json:"bodies"`         // and until it is closed, how many records among the bodies
}

func (h *head) ticketKey() []byte {
	return append(stamp(append([]byte(h.Ticket), 0), h.At), h.ID...)
}

func (h *head) orderKey() []byte {
	at := h.At
	if h.Origin == Closed {
		at = h.ClosedAt
	}
	return append(stamp([]byte(h.Origin), at), h.ID...)
}

// parseOrder takes a key of the order apart.
func parseOrder(k []byte) (o Origin, id []byte, ok bool) {
	for _, o := range []Origin{Staged, Committed, Adopted, Closed} {
		if rest, is := bytes.CutPrefix(k, []byte(o)); is && len(rest) > 8 {
			return o, rest[8:], true
		}
	}
	return "", nil, false
}

// tally is what a start needs to know of an intent, so that it need not take each head apart.
type tally struct {
	size          int64
	parts, bodies int
	user          []byte
}

func (h *head) tally() []byte {
	b := binary.AppendUvarint(nil, uint64(h.Size))
	b = binary.AppendUvarint(b, uint64(h.Parts))
	b = binary.AppendUvarint(b, uint64(h.Bodies))
	return append(b, h.User...)
}

func parseTally(b []byte) (y tally, ok bool) {
	var n [3]uint64
	for i := range n {
		var size int
		if n[i], size = binary.Uvarint(b); size <= 0 {
			return y, false
		}
		b = b[size:]
	}
	return tally{size: int64(n[0]), parts: int(n[1]), bodies: int(n[2]), user: b}, true
}

func channelKey(id, channel string) []byte {
	return append(append([]byte(id), 0), channel...)
}

func dueKey(at time.Time, id, channel string) []byte {
	return append(stamp(nil, at), channelKey(id, channel)...)
}

// parseDue takes a record of what is due apart.
func parseDue(k, v []byte) (Due, error) {
	ticket, err := unseal(dueBucket, k, v)
	if err != nil {
		return Due{}, err
	}
	if len(k) > 8 {
		if id, channel, ok := strings.Cut(string(k[8:]), "\x00"); ok {
			return Due{Ref: Ref{Ticket: string(ticket), ID: id}, Channel: channel, At: unstamp(k)}, nil
		}
	}
	return Due{}, fmt.Errorf("%w: %q is among what is due", ErrDamaged, k)
}

// stamp appends a time so that bytes sort as times do. Before 1970 is 1970.
func stamp(b []byte, at time.Time) []byte {
	if at.Before(time.Unix(0, 0)) {
		return binary.BigEndian.AppendUint64(b, 0)
	}
	return binary.BigEndian.AppendUint64(b, uint64(at.UnixNano()))
}

func unstamp(k []byte) time.Time {
	return time.Unix(0, int64(binary.BigEndian.Uint64(k))).UTC()
}

// wall is a time as it comes back from the file.
func wall(at time.Time) time.Time { return at.Round(0).UTC() }
