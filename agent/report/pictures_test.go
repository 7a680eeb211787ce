// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package report

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// chromium runs a headless browser without a network, and returns what it prints.
func chromium(t *testing.T, args ...string) string {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium; .ci/deps installs it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files", "--user-data-dir=" + t.TempDir(),
		"--host-resolver-rules=MAP * ~NOTFOUND", "--no-first-run",
	}, args...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, errs.Bytes())
	}
	return string(out)
}

// pageOf writes the sample's page into a file.
func pageOf(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := sample(t).HTML(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPageFits: at no width is there anything to be scrolled to the right.
func TestPageFits(t *testing.T) {
	t.Parallel()
	file := pageOf(t)
	for _, wide := range []int{320, 400, 800, 1600} {
		outer := filepath.Join(filepath.Dir(file), "outer.html")
		text := fmt.Sprintf(`<iframe src="report.html" width="%d" height="900" style="border:0" onload="
			const d = this.contentDocument; document.title = d.documentElement.scrollWidth + ' ' + d.querySelectorAll('table').length"></iframe>`, wide)
		if err := os.WriteFile(outer, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		dom := chromium(t, "--dump-dom", "file://"+outer)
		title := regexp.MustCompile(`<title>(\d+) (\d+)</title>`).FindStringSubmatch(dom)
		if title == nil || title[1] != fmt.Sprint(wide) || title[2] == "0" {
			t.Errorf("%d: the page is wider, or not there: %q", wide, title)
		}
	}
}

// TestPictures takes the pictures of docs/reports.md anew and holds those that stand there against them; with UPDATE_PICTURES=1 (make
// pictures) they are written.
func TestPictures(t *testing.T) {
	t.Parallel()
	file := pageOf(t)
	for _, p := range []struct {
		name       string
		wide, high int
		scheme     int // what the reader prefers: 0 dark, 1 light
	}{{"report-light", 1200, 1000, 1}, {"report-dark", 1200, 1000, 0}, {"report-phone", 400, 900, 0}} {
		shot := filepath.Join(t.TempDir(), "shot.png")
		chromium(t, fmt.Sprintf("--blink-settings=preferredColorScheme=%d", p.scheme), fmt.Sprintf("--window-size=%d,%d", p.wide, p.high), "--screenshot="+shot, "file://"+file)
		got := picture(t, shot)
		kept := filepath.Join("../../docs/img", p.name+".png")
		if os.Getenv("UPDATE_PICTURES") != "" {
			var b bytes.Buffer
			if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, paletted(got)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(kept, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if info, err := os.Stat(kept); err != nil || info.Size() > 100<<10 {
			t.Errorf("%s must be there and have 100 KiB at most: %v", kept, err)
		}
		if d := distance(got, picture(t, kept)); d > 6 {
			t.Errorf("%s is another page (%.1f of 255 apart): make pictures, and look at them", kept, d)
		}
	}
	text, err := os.ReadFile("../../docs/reports.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report-light", "report-dark", "report-phone"} {
		if !strings.Contains(string(text), "img/"+name+".png") {
			t.Errorf("docs/reports.md does not show %s.png", name)
		}
	}
}

func picture(t *testing.T, file string) image.Image {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return img
}

// distance is how far two pictures are apart in the brightness of their fields of 40 pixels; fonts differ from machine to machine.
func distance(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return 255
	}
	const field = 40
	sum, n := 0.0, 0
	for y := 0; y+field <= a.Bounds().Dy(); y += field {
		for x := 0; x+field <= a.Bounds().Dx(); x += field {
			d := brightness(a, x, y, field) - brightness(b, x, y, field)
			sum, n = sum+max(d, -d), n+1
		}
	}
	return sum / float64(n)
}

func brightness(img image.Image, x0, y0, field int) float64 {
	sum := 0
	for y := y0; y < y0+field; y++ {
		for x := x0; x < x0+field; x++ {
			sum += int(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y)
		}
	}
	return float64(sum) / float64(field*field)
}

// paletted is a picture in its 256 most frequent colours.
func paletted(img image.Image) image.Image {
	count := map[color.Color]int{}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[img.At(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return count[b] - count[a] })
	out := image.NewPaletted(b, all[:min(256, len(all))])
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.Set(x, y, img.At(x, y))
		}
	}
	return out
}
