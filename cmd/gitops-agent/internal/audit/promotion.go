package audit

import (
	"context"
	"fmt"
	"io"
	"time"

	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/internal/attest"
	"gitops-agent/verify"
)

// promotionView is what a commit promotes to its cluster by the trailer Gitops-Promoted. Whether that is enough decides trust.promotion of an agent.
type promotionView struct {
	Cluster string       `json:"cluster,omitempty"`
	Branch  string       `json:"branch,omitempty"`
	Commit  gitsource.ID `json:"commit,omitempty"`
	Problem string       `json:"problem,omitempty"` // why the trailer promotes nothing, or why no statement counts
	// Stated is whether a known key signed that the cluster matched the commit, if attestations were asked for.
	Stated *bool     `json:"stated,omitempty"`
	At     time.Time `json:"at,omitzero"` // when the cluster matched it, by the statement
}

// promotionOf returns what a commit promotes, nil without a trailer.
func promotionOf(v verify.Verdict) *promotionView {
	if len(v.Promoted) == 0 {
		return nil
	}
	p, err := verify.PromotionOf(v.Promoted)
	if err != nil {
		return &promotionView{Problem: err.Error()}
	}
	return &promotionView{Cluster: p.Cluster, Branch: p.Branch, Commit: p.Commit}
}

// state adds whether the promoted commit has a statement of the right cluster.
func (p *promotionView) state(ctx context.Context, reader *attest.Reader) error {
	if p == nil || p.Commit == "" || reader == nil {
		return nil
	}
	list, err := reader.About(ctx, p.Commit)
	if err != nil {
		return err
	}
	stated := false
	for _, a := range list {
		if a.Problem == "" && a.Cluster == p.Cluster && a.Branch == p.Branch {
			stated, p.At = true, a.Time
			break
		}
	}
	p.Stated = &stated
	return nil
}

// statement is the result of state for people.
func (p promotionView) statement() string {
	switch {
	case p.Stated == nil:
		return "not read: --attestations"
	case *p.Stated:
		return "matched " + moment(p.At)
	default:
		return "none that counts"
	}
}

// text names what is promoted, or the problem of the trailer.
func (p promotionView) text() string {
	if p.Problem != "" {
		return p.Problem
	}
	return fmt.Sprintf("%s/%s@%s", p.Cluster, p.Branch, p.Commit)
}

// writePromotions prints what the listed commits promote.
func writePromotions(out io.Writer, d Document, l Listing) {
	t, rows := term.Table{}, 0
	t.AddText("COMMIT", "PROMOTES", "STATEMENT")
	for _, v := range l.selected(d) {
		p := v.Promotion
		if p == nil {
			continue
		}
		rows++
		statement := "-"
		if p.Problem == "" {
			statement = p.statement()
		}
		t.AddText(v.shortID(), p.text(), statement)
	}
	if rows > 0 {
		_, _ = fmt.Fprintln(out)
		t.Write(out, term.NewPalette(out))
	}
}
