// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
)

// maxFacts is the API's limit on facts, in bytes.
const maxFacts = 512 << 10

// facts reads --fact and --facts. Without either it returns nil.
func facts(c *cli.Context) (json.RawMessage, error) {
	pairs, file := c.StringSlice("fact"), c.String("facts")
	switch {
	case len(pairs) > 0 && file != "":
		return nil, usagef(c, "--fact and --facts cannot stand together: put all facts into the file")
	case len(pairs) > 0:
		return factsOf(c, pairs)
	case file == "":
		return nil, nil
	}
	b, err := readFile(c, file, maxFacts)
	if err != nil {
		return nil, err
	}
	if !json.Valid(b) {
		return nil, exitf(exitData, "%s is not JSON: a JSON object is needed, such as {\"open\": true}", file)
	}
	return b, nil
}

// factsOf makes an object of KEY=TEXT and KEY:=JSON, in their order.
func factsOf(c *cli.Context, pairs []string) (json.RawMessage, error) {
	var b bytes.Buffer
	seen := map[string]bool{}
	for i, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		key, raw := strings.CutSuffix(key, ":")
		switch {
		case !ok || key == "":
			return nil, usagef(c, "--fact %q is neither KEY=TEXT nor KEY:=JSON", pair)
		case seen[key]:
			return nil, usagef(c, "--fact %q is given twice", key)
		case raw && !json.Valid([]byte(value)):
			return nil, usagef(c, "what follows := in --fact %q is not JSON: for text write =", pair)
		}
		seen[key] = true
		if !raw {
			value = quote(value)
		}
		fmt.Fprintf(&b, "%c%s:%s", "{,"[min(i, 1)], quote(key), value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func quote(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}

// openInput opens a file, or standard input for -. what it is stands in the error.
func openInput(c *cli.Context, name, what string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(c.App.Reader), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, exitf(exitData, "cannot read%s: %v", what, err)
	}
	return f, nil
}

// readFile reads a file, or standard input for -, of at most limit bytes.
func readFile(c *cli.Context, name string, limit int64) ([]byte, error) {
	in, err := openInput(c, name, "")
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, exitf(exitData, "cannot read %s: %v", name, err)
	}
	if int64(len(b)) > limit {
		return nil, exitf(exitData, "%s is longer than %d KiB", name, limit>>10)
	}
	return b, nil
}
