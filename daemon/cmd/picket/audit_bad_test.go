// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"bytes"
	"strings"
	"testing"
)

// stray is a record as the journal has it, of a user, with fields that are not the daemon's.
func stray(uid, seq, at string) string {
	return `{"_UID":"` + uid + `","PICKET_EVENT":"step","PICKET_RUN":"r","PICKET_SEQ":"` + seq + `","PICKET_TIME":"` + at + `"}` + "\n"
}

const strayTime = "2026-11-29T08:00:00.000000Z"

// TestNobodyCanForgeTheAuditAway: a record of somebody else is left out, however it looks.
func TestNobodyCanForgeTheAuditAway(t *testing.T) {
	forged := stray("12345", "abc", strayTime) + stray("12345", "1", "soon") + stray("12345", "-4", strayTime) + stray("12345", "2", strayTime)
	fakeJournalctl(t, "case \"$*\" in *json*) cat <<'END'\n"+stray("0", "1", strayTime)+forged+stray("0", "2", strayTime)+"END\nesac\n")
	for _, args := range [][]string{{}, {"--verify"}, {"--follow"}} {
		var out, errs bytes.Buffer
		code := runs(append([]string{"picket", "audit"}, args...), strings.NewReader(""), &out, &errs)
		if code != 0 || errs.String() != "picket: left out 4 records of uid 12345, who is not the daemon\n" || !strings.Contains(out.String(), "2026-11-29") {
			t.Errorf("%v: exit %d: %s%s", args, code, &out, &errs)
		}
	}
}

// TestARecordThatCannotBeReadIsToldAndPassedOver: with the number of its line; the rest is read.
func TestARecordThatCannotBeReadIsToldAndPassedOver(t *testing.T) {
	t.Parallel()
	good := auditLines("a", "1", "2 end")
	for bad, says := range map[string]string{
		stray("0", "abc", strayTime):                `line 1: PICKET_SEQ is "abc"`,
		stray("0", "-4", strayTime):                 `line 1: PICKET_SEQ is "-4"`,
		stray("0", "0", strayTime):                  `line 1: PICKET_SEQ is "0"`,
		stray("0", "7", "soon"):                     `line 1: PICKET_TIME of record 7 is "soon"`,
		`{"PICKET_EVENT":"step","PICKET_SEQ` + "\n": `line 1: it is not a whole JSON object`,
	} {
		for _, args := range [][]string{{}, {"--verify"}} {
			var out, errs bytes.Buffer
			code := runs(append([]string{"picket", "audit", "--file", "-"}, args...), strings.NewReader(bad+good), &out, &errs)
			if code != exitData || !strings.Contains(errs.String(), says) || !strings.Contains(errs.String(), "1 record could not be read") {
				t.Errorf("%s%v: exit %d: %s", bad, args, code, &errs)
			}
			if !strings.Contains(out.String(), "stopped") || strings.Contains(out.String(), "-4") {
				t.Errorf("%s%v: got %s", bad, args, &out)
			}
		}
	}
}

// TestAnExportCountsOnlyWhatTheDaemonSent: journald vouches for the sender there, too.
func TestAnExportCountsOnlyWhatTheDaemonSent(t *testing.T) {
	t.Parallel()
	unit := strings.Replace(stray("64999", "2", strayTime), "{", `{"_SYSTEMD_UNIT":"picketd.service",`, 1) // the uid of picket elsewhere
	in := stray("0", "1", strayTime) + unit + stray("12345", "9", strayTime) + stray("12345", "x", strayTime) + `{"PICKET_EVENT":["a",{}],"_UID":[]}` + "\n"
	var out, errs bytes.Buffer
	code := runs([]string{"picket", "audit", "--verify", "--file", "-"}, strings.NewReader(in), &out, &errs)
	if code != 0 || !strings.Contains(errs.String(), "left out 2 records of uid 12345") || !strings.Contains(out.String(), "1 … 2 ") {
		t.Errorf("exit %d: %s%s", code, &out, &errs)
	}
}

func TestAFolderIsNoFileOfRecords(t *testing.T) {
	t.Parallel()
	for _, name := range []string{t.TempDir(), t.TempDir() + "/none"} {
		var out, errs bytes.Buffer
		if code := runs([]string{"picket", "audit", "--file", name}, strings.NewReader(""), &out, &errs); code != exitData || !strings.Contains(errs.String(), name) {
			t.Errorf("%s: exit %d: %s", name, code, &errs)
		}
	}
}

// TestJournalctlIsHeardWhereItSpeaks: with --output=json it keeps to itself that a user sees no more than its own records.
func TestJournalctlIsHeardWhereItSpeaks(t *testing.T) {
	for hint, want := range map[string]int{
		"Hint: You are currently not seeing messages from other users and the system.": exitNoPerm,
		"Hint: You are currently not seeing messages from the system.":                 exitNoPerm,
		"No journal files were found.":                                                 exitUnavailable,
	} {
		for _, args := range [][]string{{}, {"--verify"}, {"--follow"}} {
			fakeJournalctl(t, "case \"$*\" in *json*) ;; *) echo '"+hint+"' >&2 ;; esac\n")
			var out, errs bytes.Buffer
			if code := runs(append([]string{"picket", "audit"}, args...), strings.NewReader(""), &out, &errs); code != want {
				t.Errorf("%s %v: exit %d: %s%s", hint, args, code, &out, &errs)
			}
		}
	}
}
