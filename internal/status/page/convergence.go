package page

import (
	"fmt"
	"slices"
	"time"

	"gitops-agent/internal/status/words"
)

// Measures of the drawing of revisions, in pixels.
const (
	barWidth      = 22
	barGap        = 6
	barHeight     = 46 // of the longest
	barLeast      = 2
	convergeTop   = 14 // above it is the longest span in words
	convergeBelow = 2
)

// convergence draws how long revisions took to converge: a bar for each, the newest on the right.
type convergence struct {
	Bars                []convergenceBar
	Width, Height, Base int
	Longest             string
}

type convergenceBar struct {
	X, Y, Width, Height int
	Tone                tone
	Label               string
}

// newConvergence returns the drawing of revisions, which are ordered from the newest. A refused one has the least bar. One that did not converge ends with the
// revision after it, or now.
func newConvergence(revisions []revisionView, now time.Time) *convergence {
	spans, longest, accepted := make([]time.Duration, len(revisions)), time.Second, 0
	end := now
	for i, r := range revisions {
		if r.Refused != "" {
			continue
		}
		if !r.Converged.IsZero() {
			end = r.Converged
		}
		spans[i] = end.Sub(r.Time)
		longest, end, accepted = max(longest, spans[i]), r.Time, accepted+1
	}
	if accepted < 2 {
		return nil
	}
	c := &convergence{Base: convergeTop + barHeight, Width: len(revisions) * (barWidth + barGap), Height: convergeTop + barHeight + convergeBelow, Longest: words.Span(longest)}
	for i, r := range slices.Backward(revisions) {
		bar := convergenceBar{X: len(c.Bars) * (barWidth + barGap), Width: barWidth, Tone: good, Height: max(barLeast, int(barHeight*spans[i]/longest))}
		id := words.ShortID(r.Commit)
		switch {
		case r.Refused != "":
			bar.Tone, bar.Label = bad, fmt.Sprintf("%s refused: %s", id, r.Refused)
		case !r.Converged.IsZero():
			bar.Label = fmt.Sprintf("%s converged after %s", id, r.ConvergedAfter)
		case r.InForce:
			bar.Tone, bar.Label = busy, fmt.Sprintf("%s not converged for %s", id, words.Span(spans[i]))
		default:
			bar.Tone, bar.Label = idle, id+" not converged before the next one"
		}
		bar.Y = c.Base - bar.Height
		c.Bars = append(c.Bars, bar)
	}
	return c
}
