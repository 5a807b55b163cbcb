package order

import (
	"ralph-loop/internal/spec"
)

// Row is one requirement as the lists show it. The JSON form only grows.
type Row struct {
	ID        string      `json:"id"`
	Title     string      `json:"title"`
	Priority  *int        `json:"priority"` // null without one
	Status    spec.Status `json:"status"`   // blocked also where an upstream requirement is
	Phase     string      `json:"phase,omitempty"`
	Ready     bool        `json:"ready"`
	Layer     int         `json:"layer"` // from 1
	DependsOn []string    `json:"depends_on"`
	BlockedBy string      `json:"blocked_by,omitempty"` // the nearest dependency that is blocked
	Commit    string      `json:"commit,omitempty"`
	Line      int         `json:"line"`
}

// Rows is the requirements in topology order.
func (g *Graph) Rows(states States) []Row {
	statuses := g.statuses(states)
	held := g.held(statuses)
	rows := make([]Row, len(g.order))
	for k, i := range g.order {
		r := g.spec.Requirements[i]
		state := states[r.ID]
		row := Row{
			ID: r.ID, Title: r.Title, Status: statuses[i], Phase: state.Phase,
			Ready: (statuses[i] == spec.Pending || statuses[i] == spec.InProgress) && g.met(i, statuses),
			Layer: int(g.layer[i]) + 1, DependsOn: r.DependsOn, Commit: state.Commit, Line: r.Line,
		}
		if r.HasPriority {
			row.Priority = &r.Priority
		}
		if row.DependsOn == nil {
			row.DependsOn = []string{}
		}
		if held[i] >= 0 {
			row.Status, row.BlockedBy = spec.Blocked, g.id(held[i])
		}
		rows[k] = row
	}
	return rows
}

// Select is the rows of the given ids, in their order.
func Select(rows []Row, ids []string) []Row {
	byID := make(map[string]int, len(rows))
	for k, row := range rows {
		byID[row.ID] = k
	}
	selected := make([]Row, 0, len(ids))
	for _, id := range ids {
		selected = append(selected, rows[byID[id]])
	}
	return selected
}

// Unfinished is the rows of what is neither done nor skipped.
func Unfinished(rows []Row) []Row {
	left := make([]Row, 0, len(rows))
	for _, row := range rows {
		if !row.Status.Finished() {
			left = append(left, row)
		}
	}
	return left
}
