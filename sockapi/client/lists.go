// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"context"
	"net/http"
	"net/url"
)

// ListRequest is the body of PUT /v1/tasks/{task}/lists/{digest}.
type ListRequest struct {
	Total int `json:"total" minimum:"1" maximum:"1048576" doc:"How many assets the list has."`
}

// ListsResponse answers PUT /v1/tasks/{task}/lists/{digest}.
type ListsResponse struct {
	Lists map[string]int `json:"lists" doc:"The lists that were noted under this task, at most 64: how many assets each has, by its digest."`
}

// ChunkRequest is the body of POST /v1/tasks/{task}/chunks.
type ChunkRequest struct {
	Assets []string `json:"assets" form:"asset" minItems:"1" maxItems:"1000" minLength:"1" maxLength:"256" doc:"A part of a list. Who asks for the same assets in the same order is answered from what Redis remembers of them when all are done."`
}

// ChunkResponse answers POST /v1/tasks/{task}/chunks. Its lists are places among the assets that were asked for, from 0.
type ChunkResponse struct {
	Open     []int  `json:"open" doc:"Those without a ticket, or with one that is not terminal."`
	Failed   []int  `json:"failed" doc:"Those whose ticket is FAILED. All others that are not open are FINISHED."`
	HighRisk []int  `json:"high_risk" doc:"Those not open that are at high risk. As with failed, their tickets may have changed since this was noted: read them."`
	Basis    string `json:"basis" doc:"What this answer rests on: it holds while later answers under this task have the same. Another one: a ticket was reopened, or Redis may have lost data. Empty: nobody can tell now."`
}

// NoteList notes that a list with that digest and so many assets is worked on under a task, and answers which are.
func (c *Client) NoteList(ctx context.Context, task, digest string, total int) (map[string]int, error) {
	var a ListsResponse
	err := c.call(ctx, http.MethodPut, "/v1/tasks/"+url.PathEscape(task)+"/lists/"+digest, &ListRequest{total}, &a)
	return a.Lists, err
}

// Chunk reads which of at most 1,000 assets are not done yet under a task.
func (c *Client) Chunk(ctx context.Context, task string, assets []string) (ChunkResponse, error) {
	var a ChunkResponse
	err := c.call(ctx, http.MethodPost, "/v1/tasks/"+url.PathEscape(task)+"/chunks", &ChunkRequest{assets}, &a)
	return a, err
}
