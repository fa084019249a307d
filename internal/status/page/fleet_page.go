package page

import (
	"html/template"
	"time"

	"gitops-agent/internal/fleet"
)

// FleetInput is what the page of several clusters shows.
type FleetInput struct {
	Rows    []fleet.Row // in the order of the page
	ReadAt  time.Time   // when the agents were read; zero before the first reading
	Now     time.Time
	Version string
	Problem string // why the newest file of targets is not used, "" if it is
}

// Fleet renders the page of several clusters. It needs no script.
func Fleet(in FleetInput) ([]byte, error) {
	return render("fleet.html", newFleetPage(in))
}

type fleetPage struct {
	FleetInput

	Read  timeView
	Tone  tone
	Tiles []tile
	Lines []fleetLine
}

// fleetLine is the line of one cluster.
type fleetLine struct {
	fleet.Row

	Badge    badge
	Behind   timeView
	Reported timeView
	Reached  bool // its agent answered
}

func newFleetPage(in FleetInput) fleetPage {
	p := fleetPage{FleetInput: in, Read: timeView{in.ReadAt, in.Now}, Tone: good}
	counts := fleet.Counts(in.Rows)
	for _, r := range in.Rows {
		p.Lines = append(p.Lines, fleetLine{
			Row: r, Badge: badge{Tone: fleetTone(r.State), Text: string(r.State)}, Behind: timeView{r.BehindSince, in.Now}, Reported: timeView{r.Time, in.Now},
			Reached: r.State != fleet.Unreachable,
		})
	}
	for _, state := range fleet.States() {
		if counts[state] > 0 {
			p.Tiles = append(p.Tiles, tile{Tone: fleetTone(state), Count: counts[state], Label: string(state)})
		}
	}
	if len(in.Rows) > 0 {
		p.Tone = fleetTone(in.Rows[0].State)
	} else {
		p.Tone = idle
	}
	return p
}

// fleetTone returns the colour of a state.
func fleetTone(state fleet.State) tone {
	switch {
	case state.IsFailure():
		return bad
	case state == fleet.Converged:
		return good
	}
	return warn
}

// Style returns the style sheet.
func (fleetPage) Style() template.CSS { return frame{}.Style() }

// Refresh returns the seconds between reloads.
func (fleetPage) Refresh() int { return refreshEvery }
