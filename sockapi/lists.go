// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"fmt"
	"net/http"
	"regexp"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

const (
	digestRule = "must be 64 hexadecimal digits, the letters small"
	partsMost  = (1<<20 - 1) / store.ListPart // the number of the last part of the longest list
)

func putList(c *call, _ noInput, r client.ListRequest) (answer, error) {
	lists, err := c.api.Engine.NoteList(c.request.Context(), c.ticket.Task, c.digest, r.Total)
	return answer{status: http.StatusOK, body: &client.ListsResponse{Lists: lists}}, err
}

func putReport(c *call, _ noInput, r client.ReportRequest) (answer, error) {
	if !digestForm.MatchString(r.List) {
		return answer{}, invalid("body.list", digestRule)
	}
	noted, err := c.api.Engine.NoteReport(c.request.Context(), store.ReportNote{Ticket: c.ticket, List: r.List, Total: r.Total, Run: r.Run, Works: r.Works})
	return answer{status: http.StatusOK, body: &client.ReportResponse{
		AgeMS: noted.Age.Milliseconds(), Works: noted.Works, Lists: noted.Lists, Parts: noted.Parts,
	}}, err
}

func putPart(c *call, _ noInput, r client.ListPartRequest) (answer, error) {
	of := make([]store.Asset, len(r.Assets))
	for i, a := range r.Assets {
		of[i], _ = store.ParseAsset(a) // it was checked
		if of[i].IsReport() {
			return answer{}, invalid(fmt.Sprintf("body.assets[%d]", i), "is a report, which no list has")
		}
	}
	return answer{status: http.StatusNoContent}, c.api.Engine.PutPart(c.request.Context(), c.digest, c.part, of)
}

func getPart(c *call, _, _ noInput) (answer, error) {
	of, err := c.api.Engine.Part(c.request.Context(), c.digest, c.part)
	body := client.ListPart{Assets: make([]string, len(of))}
	for i, a := range of {
		body.Assets[i] = string(a)
	}
	return answer{status: http.StatusOK, body: &body}, err
}

func postChunk(c *call, _ noInput, r client.ChunkRequest) (answer, error) {
	assets := make([]store.Asset, len(r.Assets))
	for i, a := range r.Assets {
		assets[i], _ = store.ParseAsset(a) // it was checked
	}
	found, err := c.api.Engine.Chunk(c.request.Context(), c.ticket.Task, assets)
	list := func(places []int) []int { return append([]int{}, places...) }
	return answer{status: http.StatusOK, body: &client.ChunkResponse{
		Open: list(found.Open), Failed: list(found.Failed), HighRisk: list(found.HighRisk), Basis: found.Basis,
	}}, err
}
