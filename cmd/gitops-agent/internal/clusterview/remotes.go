package clusterview

import (
	"context"
	"errors"
	"fmt"

	"gitops-agent/cmd/gitops-agent/internal/proposal"
	"gitops-agent/cmd/gitops-agent/internal/term"
	"gitops-agent/gitsource"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/writer"
)

// remotes checks that each remote serves the branch, and that the agent would accept what the first of them serves.
func (c *checker) remotes(ctx context.Context, floor writer.Floor) {
	found, err := proposal.CheckRemotes(ctx, c.Config, c.State, floor, c.Progress)
	if err != nil {
		c.note("remote", "", "", err)
		return
	}
	judged := ""
	for _, r := range found.Remotes {
		message := fmt.Sprintf("%s is at %.10s", c.Config.Source.Branch, string(r.Tip))
		if judged == "" && r.Err == nil {
			judged = string(r.Tip)
		}
		if r.Err == nil && string(r.Tip) != judged {
			message += ", another commit than at the first remote"
		}
		c.note("remote", r.URL, message, withRemedy(r.Err))
	}
	if judged == "" {
		return
	}
	if c.Config.Trust.Anchor != "" {
		c.note("anchor", c.Config.Trust.Anchor[:min(len(c.Config.Trust.Anchor), 10)], "is on the first-parent path of "+c.Config.Source.Branch, found.Anchor)
	}
	if found.TipErr != nil {
		c.note("tip", judged[:10], "", found.TipErr)
		return
	}
	c.tip(found.Tip)
}

// tip notes whether the agent would accept the tip of the branch. A tip that is already in force is judged again too, as the agent does.
func (c *checker) tip(d proposal.Document) {
	if !d.Accepted && d.Tip == c.Config.Trust.Anchor && d.Base == "" {
		c.result.Checks = append(c.result.Checks, checkView{
			Check: "tip", Subject: d.Tip[:10], Good: true, Warning: true, Message: "is the anchor, and the agent would not accept it by itself: " + d.Message,
			Hint: "push a signed commit with Gitops-Target: " + d.Target + "; the anchor itself needs no signature",
		})
		return
	}
	if !d.Accepted {
		c.note("tip", d.Tip[:10], "", term.WithHint(fmt.Errorf("the agent refuses it as %s: %s", d.Reason, d.Message), d.Hint))
		return
	}
	message := "the agent accepts it for " + d.Target
	switch {
	case d.Commit != d.Tip && d.Commit == d.Base:
		message = fmt.Sprintf("the agent passes over it, and %.10s is in force for %s: %s", d.Commit, d.Target, d.Ahead.Text())
	case d.Commit != d.Tip:
		message = fmt.Sprintf("the agent passes over it, and accepts %.10s for %s: %s", d.Commit, d.Target, d.Ahead.Text())
	case d.Commit == d.Base:
		message = "is in force for " + d.Target
	}
	if n := len(d.Commits); n > 0 {
		message += ", signed by " + d.Commits[n-1].Signer + " (" + d.Commits[n-1].Subject + ")"
	}
	for _, w := range d.Warnings {
		message += "; warning: " + w
	}
	view := checkView{Check: "tip", Subject: d.Tip[:10], Good: true, Message: message}
	if d.Ahead != nil && len(d.Ahead.Unknown) > 0 {
		view.Warning, view.Hint = true, d.Ahead.Hint
	}
	c.result.Checks = append(c.result.Checks, view)
}

// withRemedy adds what to do about a remote that does not serve the branch.
func withRemedy(err error) error {
	if _, has := term.Hint(err); has || err == nil {
		return err
	}
	var format *gitsource.FormatError
	if errors.As(err, &format) {
		return term.WithHint(err, format.Remedy)
	}
	if errors.Is(err, gitsource.ErrPassphrase) {
		return term.WithHint(err, "make a key for the agent alone: ssh-keygen -t ed25519 -N '' -f FILE, and add its public key to the forge, read-only")
	}
	return term.WithHint(err, reason.Outage(reason.Source, string(gitsource.FaultOf(err))).Remedy.Text)
}
