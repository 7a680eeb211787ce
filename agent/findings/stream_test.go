// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package findings

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// repeat is a long input that is never in memory as a whole.
type repeat struct {
	head, tail string
	each       func(i int) string
	n, i       int
	left       string
	begun      bool
	onRead     func()
}

func (r *repeat) Read(p []byte) (int, error) {
	for r.left == "" {
		switch {
		case !r.begun:
			r.begun, r.left = true, r.head
		case r.i < r.n:
			r.left = r.each(r.i)
			r.i++
			if r.onRead != nil {
				r.onRead()
			}
		case r.i == r.n:
			r.left = r.tail
			r.i++
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// TestMemoryIsBounded reads outputs far larger than the memory they may take. It is not parallel, for it looks at the heap.
func TestMemoryIsBounded(t *testing.T) {
	notRaced(t)
	const (
		n     = 150
		large = 100 << 10 // so each input has 15 MB
		most  = 10 << 20
	)
	blob := strings.Repeat("x", large)
	for format, in := range map[string]*repeat{
		"nuclei": {each: func(i int) string {
			return fmt.Sprintf("{\"template-id\":\"t-%d\",\"info\":{\"severity\":\"low\"},\"response\":\"%s\"}\n", i, blob)
		}},
		"trivy": {
			head: `{"SchemaVersion":2,"Results":[{"Target":"a","Vulnerabilities":[`, tail: `{"VulnerabilityID":"end"}]}]}`,
			each: func(i int) string { return fmt.Sprintf(`{"VulnerabilityID":"t-%d","Description":"%s"},`, i, blob) },
		},
		"grype": {
			head: `{"unknown":[`, tail: `0],"matches":[]}`,
			each: func(int) string { return "[\"" + blob + "\"]," },
		},
		"sarif": {
			head: `{"version":"2.1.0","runs":[{"results":[`, tail: `{"ruleId":"end"}]}]}`,
			each: func(i int) string { return fmt.Sprintf(`{"ruleId":"t-%d","message":{"text":"%s"}},`, i, blob) },
		},
		"osv": {
			head: `{"results":[{"source":{},"packages":[{"vulnerabilities":[`, tail: `{"id":"end"}]}]}]}`,
			each: func(i int) string { return fmt.Sprintf(`{"id":"t-%d","details":"%s"},`, i, blob) },
		},
		"nmap": {
			head: `<nmaprun scanner="nmap"><scaninfo/>`, tail: `<runstats><finished exit="success"/></runstats></nmaprun>`,
			each: func(int) string { return "<host><address addr='::1'/><os output='" + blob + "'/></host>" },
		},
	} {
		var peak uint64
		runtime.GC()
		var before, now runtime.MemStats
		runtime.ReadMemStats(&before)
		in.n = n
		in.onRead = func() {
			if in.i%50 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc)
			}
		}
		if _, err := Parse(format, in); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if grown := int64(peak) - int64(before.HeapAlloc); grown > most {
			t.Errorf("%s: took %d MiB of memory for an input of %d MiB", format, grown>>20, n*large>>20)
		}
	}
}

// notRaced skips a test of one goroutine over megabytes under the race detector, which has nothing to find there and takes ten times
// as long; make test runs it without.
func notRaced(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("the race detector has nothing to find here: make test runs it without")
	}
}
