package fleetview

import (
	"cmp"
	"context"
	"sync"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/statusview"
	"gitops-agent/internal/fleet"
	"gitops-agent/internal/status/words"
)

// parallel bounds the agents that are read at the same time. Large replies are read and decoded one after the other.
const parallel = 8

// clusterLabel is the label that names the cluster of a target whose agent does not answer.
const clusterLabel = "cluster"

// Poll reads the status of all targets, eight at a time, and returns their rows in the order of fleet.Sort. An agent that does not answer takes ten seconds.
// Done is called after each target with the number of targets that were read, one call after the other; nil does nothing.
func Poll(ctx context.Context, targets []Target, done func(n, of int)) []fleet.Row {
	rows := make([]fleet.Row, len(targets))
	slots, turns := make(chan struct{}, parallel), statusview.NewTurns()
	var wg sync.WaitGroup
	var mu sync.Mutex
	n := 0
	for i := range targets {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			rows[i] = read(ctx, targets[i], turns)
			mu.Lock()
			defer mu.Unlock()
			if n++; done != nil {
				done(n, len(targets))
			}
		})
	}
	wg.Wait()
	fleet.Sort(rows)
	return rows
}

// read returns the row of one target. Its files are read each time, so that credentials can be rotated.
func read(ctx context.Context, target Target, turns *statusview.Turns) fleet.Row {
	row, err := readReport(ctx, target.Agent, turns)
	if err != nil {
		row = fleet.Row{State: fleet.Unreachable, Problem: words.OneLine(err.Error())}
	}
	row.Target, row.URL, row.Labels = target.Name, target.Agent.URL, target.Labels
	row.Cluster = cmp.Or(row.Cluster, target.Labels[clusterLabel])
	return row
}

func readReport(ctx context.Context, agent statusview.Target, turns *statusview.Turns) (fleet.Row, error) {
	client, err := statusview.NewClient(agent, nil)
	if err != nil {
		return fleet.Row{}, err
	}
	defer client.Close()
	document, _, err := client.Sharing(turns).Read(ctx)
	if err != nil {
		return fleet.Row{}, err
	}
	return fleet.NewRow(document.Report, time.Now()), nil
}

// Document is the JSON of a fleet.
type Document struct {
	SchemaVersion int                 `json:"schemaVersion"`
	Time          time.Time           `json:"time"` // when the agents were read
	States        map[fleet.State]int `json:"states"`
	Clusters      []fleet.Row         `json:"clusters"` // most urgent first
}

// schemaVersion grows when a field of Document changes its meaning or is removed.
const schemaVersion = 1

// NewDocument returns the JSON of rows that were read at a time. Every state is counted.
func NewDocument(rows []fleet.Row, at time.Time) Document {
	counts := fleet.Counts(rows)
	if rows == nil {
		rows = []fleet.Row{}
	}
	return Document{schemaVersion, at.UTC(), counts, rows}
}
