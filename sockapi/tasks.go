// SPDX-License-Identifier: Apache-2.0
// Copyright The Picket Authors

package sockapi

import (
	"cmp"
	"net/http"

	"github.com/picketd/picket/engine/store"
	"github.com/picketd/picket/sockapi/client"
)

type tasksQuery struct {
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"How many at most. Defaults to 100."`
	Cursor string `json:"cursor,omitempty" minLength:"1" maxLength:"1024" doc:"That of the page before."`
}

func listTasks(c *call, q tasksQuery, _ noInput) (answer, error) {
	page, err := c.api.Engine.Tasks(c.request.Context(), cmp.Or(q.Limit, listLimit), q.Cursor)
	body := client.TaskList{Tasks: make([]client.Task, len(page.Tasks)), Cursor: client.Cursor(page.Cursor), Incomplete: page.Incomplete}
	for i, t := range page.Tasks {
		body.Tasks[i] = wireTask(t)
	}
	return answer{status: http.StatusOK, body: &body}, err
}

type taskQuery struct {
	NewRisks bool `json:"new_risks,omitempty" doc:"Also compare the tickets at high risk with those that their assets had before."`
}

func getTask(c *call, q taskQuery, _ noInput) (answer, error) {
	t, incomplete, err := c.api.Engine.Task(c.request.Context(), c.ticket.Task)
	body := client.TaskBody{Task: wireTask(t), Incomplete: incomplete}
	if err == nil && q.NewRisks {
		body.NewRisks = &client.NewRisks{}
		body.NewRisks.New, body.NewRisks.Compared, err = c.api.Engine.NewRisks(c.request.Context(), c.ticket.Task)
	}
	return answer{status: http.StatusOK, body: &body}, err
}

func wireTask(t store.Task) client.Task {
	wire := client.Task{
		Task: t.Name, Total: t.Total, Lists: t.Lists, States: make(map[string]int64, len(t.States)), Failed: t.Failed, HighRisk: t.HighRisk, Damaged: t.Damaged,
		PerMinute: t.PerMinute, StartedAt: timeOrNull(t.StartedAt), UpdatedAt: t.UpdatedAt,
	}
	for state, n := range t.States {
		wire.States[string(state)] = n
	}
	return wire
}
