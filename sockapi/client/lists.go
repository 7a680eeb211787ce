// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// ListRequest is the body of PUT /v1/tasks/{task}/lists/{digest}.
type ListRequest struct {
	Total int `json:"total" minimum:"1" maximum:"1048576" doc:"How many assets the list has."`
}

// ListsResponse answers PUT /v1/tasks/{task}/lists/{digest}.
type ListsResponse struct {
	Lists map[string]int `json:"lists" doc:"The lists that were noted under this task, at most 64: how many assets each has, by its digest."`
}

// ReportRequest is the body of PUT /v1/tasks/{task}/reports/{report}.
type ReportRequest struct {
	List  string `json:"list" minLength:"64" maxLength:"64" doc:"The digest of the list that the run works on."`
	Total int    `json:"total" minimum:"1" maximum:"1048576" doc:"How many assets it has."`
	Run   string `json:"run" minLength:"1" maxLength:"64" doc:"A name by chance for the run, the same each time."`
	Works bool   `json:"works,omitempty" doc:"True: the run has not done all that it can. It counts as at work for 45 s, by Redis' clock."`
}

// ReportResponse answers PUT /v1/tasks/{task}/reports/{report}.
type ReportResponse struct {
	AgeMS int64          `json:"age_ms" doc:"Since the first run was noted for the report."`
	Works int            `json:"works" doc:"How many other runs are at work for it."`
	Lists map[string]int `json:"lists" doc:"The lists of all its runs, at most 64: how many assets each has, by its digest."`
	Parts int            `json:"parts" doc:"How many parts are kept of the list that was asked for: of 1,000 assets each, but the last."`
}

// ListPartRequest is the body of PUT /v1/lists/{digest}/parts/{part}.
type ListPartRequest struct {
	Assets []string `json:"assets" form:"asset" minItems:"1" maxItems:"1000" minLength:"1" maxLength:"256" doc:"The names, in the list's order."`
}

// ListPart answers GET /v1/lists/{digest}/parts/{part}.
type ListPart struct {
	Assets []string `json:"assets" doc:"The names, in the list's order. None: the part is not kept."`
}

// PartSize is how many assets each part of a list has, but for the last.
const PartSize = 1000

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

// NoteReport notes a run for the report of that name under a task.
func (c *Client) NoteReport(ctx context.Context, task, name string, r ReportRequest) (ReportResponse, error) {
	var a ReportResponse
	err := c.call(ctx, http.MethodPut, "/v1/tasks/"+url.PathEscape(task)+"/reports/"+url.PathEscape(name), &r, &a)
	return a, err
}

// PutPart keeps a part of the list with that digest: up to PartSize of its assets.
func (c *Client) PutPart(ctx context.Context, digest string, part int, assets []string) error {
	return c.call(ctx, http.MethodPut, partPath(digest, part), &ListPartRequest{assets}, nil)
}

// Part reads a part of the list with that digest; none when it is not kept.
func (c *Client) Part(ctx context.Context, digest string, part int) ([]string, error) {
	var a ListPart
	err := c.call(ctx, http.MethodGet, partPath(digest, part), nil, &a)
	return a.Assets, err
}

func partPath(digest string, part int) string {
	return "/v1/lists/" + url.PathEscape(digest) + "/parts/" + strconv.Itoa(part)
}

// Chunk reads which of at most 1,000 assets are not done yet under a task.
func (c *Client) Chunk(ctx context.Context, task string, assets []string) (ChunkResponse, error) {
	var a ChunkResponse
	err := c.call(ctx, http.MethodPost, "/v1/tasks/"+url.PathEscape(task)+"/chunks", &ChunkRequest{assets}, &a)
	return a, err
}
