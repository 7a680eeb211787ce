// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"net/http"
	"regexp"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

func putList(c *call, _ noInput, r client.ListRequest) (answer, error) {
	lists, err := c.api.Engine.NoteList(c.request.Context(), c.ticket.Task, c.digest, r.Total)
	return answer{status: http.StatusOK, body: &client.ListsResponse{Lists: lists}}, err
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
