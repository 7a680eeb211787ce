// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package store

import (
	"context"
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/redis/go-redis/v9"
)

//go:embed lua
var lua embed.FS

// script is a Lua script with its name for the metrics, which is that of its file and of the Go function that runs it.
type script struct {
	name   string
	linked func() *redis.Script // with its first use: most commands use none
	kept   bool                 // what it promises waits for the replicas
}

// Run runs it by its hash, and sends its text where Redis does not know that.
func (s script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd {
	return s.linked().Run(ctx, c, keys, args...)
}

// scripts are all of them.
var scripts []script

// newScript reads lua/NAME.lua, with what it needs of these files of that folder before it. One that begins with common gets what both
// sides must agree upon, too. Its first line is its name, for whoever looks into Redis.
func newScript(name string, before ...string) script {
	s := script{name: name, linked: sync.OnceValue(func() *redis.Script {
		source := readLua(name)
		for _, file := range slices.Backward(before) {
			source = link(readLua(file), source)
		}
		if len(before) > 0 {
			source = link(agreed(), source)
		}
		return redis.NewScript("-- " + name + "\n" + source)
	})}
	scripts = append(scripts, s)
	return s
}

// promising is a script whose OK waits for the replicas (Replicas). Each of its answers that is OK comes with a write, that of a replay
// too: a replica is waited for up to the newest write of the connection, which for a replay is another one.
func promising(s script) script {
	s.kept = true
	return s
}

// readLua reads a file without its comments: what those name is not needed.
func readLua(name string) string {
	b, err := lua.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // it is compiled in
	}
	return luaComment.ReplaceAllString(string(b), "")
}

// luaComment is from two hyphens, at the beginning of a line or after a space, to the line's end. No text of a script has any.
var luaComment = regexp.MustCompile(`(?m)(^[ \t]*-- .*\n|^--\n| -- .*$)`)

// link puts those parts of a source before a script that define something which the script, or a part after them, names. An empty line
// ends a part.
func link(source, script string) string {
	parts, named := strings.Split(source, "\n\n"), map[string]bool{}
	name := func(text string) {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			named[word] = true
		}
	}
	name(script)
	for _, part := range slices.Backward(parts) {
		if slices.ContainsFunc(defined(part), func(word string) bool { return named[word] }) {
			name(part)
			script = part + "\n\n" + script
		}
	}
	return script
}

// defined are the names that a part of a source defines.
func defined(part string) (names []string) {
	for line := range strings.Lines(part) {
		if rest, ok := strings.CutPrefix(line, "local "); ok {
			rest, _, _ = strings.Cut(strings.TrimPrefix(rest, "function "), "(")
			rest, _, _ = strings.Cut(rest, " =")
			names = append(names, strings.Split(strings.TrimSpace(rest), ", ")...)
		}
	}
	return names
}

// Scripts are all scripts by name, for who watches what Redis is sent.
func Scripts() map[string]*redis.Script {
	byName := map[string]*redis.Script{}
	for _, s := range scripts {
		byName[s.name] = s.linked()
	}
	return byName
}

// Code is the first element of every script's reply.
type Code int64

// The codes, as they are called in Lua: OK, REPLAYED, …
const (
	OK       Code = iota
	Replayed      // it was so before
	Stale         // a newer grant fences the writer off
	Illegal       // the flow, or the state, does not allow it
	Conflict      // it was recorded otherwise, or another write came between
	Gone          // what it is about is there no more
	Mismatch      // the ticket follows another flow, or has another intent
	Terminal      // nothing is left to be done
	big
	proceed
	busy
	done
	superseded
	lost
	park
	moved
)

var codeNames = []string{
	"OK", "REPLAYED", "STALE", "ILLEGAL", "CONFLICT", "GONE", "MISMATCH", "TERMINAL", "BIG", "GO", "BUSY", "DONE", "SUPERSEDED",
	"LOST", "PARK", "MOVED",
}

// agreed is what Go and Lua call by the same name: the codes, and the states that every flow has.
func agreed() string {
	var b strings.Builder
	for i, name := range codeNames {
		fmt.Fprintf(&b, "local %s = %d\n\n", name, i)
	}
	for _, s := range []State{Notifying, Notified, Finished, Failed} {
		fmt.Fprintf(&b, "local %s = '%s'\n\n", s, s)
	}
	return b.String()
}

// reply is a script's reply: its code and what follows it.
type reply struct {
	code Code
	rest []any
}

// hash is element i as a ticket's fields and values in turn.
func (r reply) hash(i int) Hash {
	list := r.list(i)
	h := make(Hash, len(list)/2)
	for j := 0; j+1 < len(list); j += 2 {
		name, _ := list[j].(string)
		h[name], _ = list[j+1].(string)
	}
	return h
}

// member is one field of the hash that element i is.
func (r reply) member(i int, name string) string {
	list := r.list(i)
	for j := 0; j+1 < len(list); j += 2 {
		if list[j] == name {
			value, _ := list[j+1].(string)
			return value
		}
	}
	return ""
}

func (r reply) text(i int) string { s, _ := r.at(i).(string); return s }

func (r reply) number(i int) int64 { n, _ := r.at(i).(int64); return n }

// texts is element i as a list in which nil is "".
func (r reply) texts(i int) []string { return textsOf(r.list(i)) }

func (r reply) list(i int) []any { list, _ := r.at(i).([]any); return list }

func (r reply) at(i int) any {
	if i >= len(r.rest) {
		return nil
	}
	return r.rest[i]
}

// textsOf are values of Redis as texts, in which nil is "".
func textsOf(list []any) []string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i], _ = list[i].(string)
	}
	return texts
}
