// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// The exponents that are wanted: of what a fleet or a list costs in all, and of what each of its daemons or assets costs.
const (
	inAll = 1.05
	each  = 0.05
)

// growth is a figure at each of several sizes. One without a wanted exponent (most is NaN) is there to be read only.
type growth struct {
	figure string
	values []float64
	show   func(float64) string
	most   float64
}

// exponents are those by which the figure grows from each size to the next: 1 is in proportion, 2 with the square.
func (g growth) exponents(sizes []int) []float64 {
	var list []float64
	for i := 1; i < len(sizes); i++ {
		list = append(list, exponent(sizes[i-1:i+1], g.values[i-1:i+1]))
	}
	return list
}

// exponent is the slope of the straight line that fits the logarithms best. NaN: one of them has none, or the sizes are equal.
func exponent(sizes []int, values []float64) float64 {
	var x, y, xx, xy float64
	for i, size := range sizes {
		a, b := math.Log(float64(size)), math.Log(values[i])
		x, y, xx, xy = x+a, y+b, xx+a*a, xy+a*b
	}
	n := float64(len(sizes))
	slope := (n*xy - x*y) / (n*xx - x*x)
	if math.IsInf(slope, 0) {
		return math.NaN()
	}
	return slope
}

func (g growth) verdict(fit float64) (wanted, verdict string) {
	if math.IsNaN(g.most) {
		return "", ""
	}
	wanted = fmt.Sprintf("≤ %.2f", g.most)
	switch {
	case math.IsNaN(fit):
		return wanted, ""
	case fit <= g.most:
		return wanted, "ok"
	}
	return wanted, "misses its target"
}

// printGrowth prints Markdown: each figure by size, the exponents from size to size, that of the whole, and the one that is wanted.
func printGrowth(w io.Writer, of string, sizes []int, figures []growth) {
	head := []string{of}
	for _, size := range sizes {
		head = append(head, fmt.Sprint(size))
	}
	cells := [][]string{append(head, "exponents", "fit", "wanted", "")}
	for _, g := range figures {
		line := []string{g.figure}
		for _, v := range g.values {
			line = append(line, g.show(v))
		}
		var steps []string
		for _, e := range g.exponents(sizes) {
			steps = append(steps, slope(e))
		}
		fit := exponent(sizes, g.values)
		wanted, verdict := g.verdict(fit)
		cells = append(cells, append(line, strings.Join(steps, " "), slope(fit), wanted, verdict))
	}
	printCells(w, cells)
}

func slope(e float64) string {
	if math.IsNaN(e) {
		return "–"
	}
	return fmt.Sprintf("%.2f", e)
}

func count(v float64) string   { return fmt.Sprintf("%.0f", v) }
func decimal(v float64) string { return fmt.Sprintf("%.2f", v) }
