package volumes

import (
	"context"
	"slices"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// checkAudit refuses if the token may not see every guest.
func (s *Source) checkAudit(ctx context.Context) error {
	path, err := s.reader.MissingAudit(ctx)
	switch {
	case err != nil:
		return unreadable("the token's privileges", err)
	case path != "":
		return &UnknownError{
			Cause: NoAudit, What: "the token lacks VM.Audit on " + path + ", so Proxmox hides guests from it",
			Fix: "grant the token VM.Audit on " + path + ", propagated; gitops-agent config check --cluster prints the command",
		}
	}
	return nil
}

// checkAuditAgain refuses to delete a file that belongs to no guest if the token may not see every guest any more. The privileges were read with the frame, and
// may have been taken away before the later inventory was read. The name of such a file has no vmid by which a hidden guest would be noticed.
func (s *Source) checkAuditAgain(ctx context.Context, r Request) error {
	if !slices.ContainsFunc(r.Touches, func(t cluster.Touch) bool { return t.Effect == cluster.Deletes && guest.BelongsToNoGuest(t.Volume) }) {
		return nil
	}
	return s.checkAudit(ctx)
}
