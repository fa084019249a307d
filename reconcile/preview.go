package reconcile

import (
	"context"
	"fmt"
	"maps"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/gate"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/image"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/kind"
	"gitops-agent/reconcile/lane"
	"gitops-agent/reconcile/manifest"
	"gitops-agent/reconcile/observe"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/rollout"
	"gitops-agent/reconcile/secret"
)

// Preview is a plan that is not executed, with the observations that it was made from and the gate that would judge it.
type Preview struct {
	Plan     plan.Plan
	Guests   []guest.Desired // that the manifests name, with the guards that would stay in effect
	Images   []image.Desired // that the manifests name
	Objects  []kind.Desired  // that the manifests name
	Observed cluster.Snapshot
	Gate     gate.Gate
	Larger   map[guest.Ref][]guest.Larger // volumes that are larger than the manifests of their guests ask for, also of clones that do not exist yet
}

// PreviewPolicy is what the trust policy of the host says about held steps. The zero value limits no signer.
type PreviewPolicy struct {
	Limits           gate.Limits
	SeparateApprover bool
	AllowedServer    func(server string) bool // from which nodes may download files of Images; nil allows none
	Rules            *policy.Set              // policies of the host; nil without any
	OwnVMID          int                      // of the guest in which the agent runs; 0 if it is not known
	Fingerprints     []byte                   // key of the fingerprints in the journal; without it, a plan does not compare what guests were created with
}

// PreviewReader reads what a preview is made from.
type PreviewReader struct {
	// Guests reads the guests of vmids, HA for those of underHA, and the firewalls, as observe.ReadAll does.
	Guests func(ctx context.Context, vmids, underHA []int, firewalls map[int]bool) (cluster.Snapshot, error)
	// Guest reads one guest of the inventory, as observe.ReadGuest does, and its snapshots if asked. It is called only for templates of guests that do not exist.
	Guest func(ctx context.Context, row cluster.Row, snapshots bool) (guest.Observed, error)
	// Files reads the files of Images, as observe.ReadFiles does. It is called only if the manifests have Images, or if files of former ones are to be deleted.
	Files func(ctx context.Context, places []cluster.FilePlace) map[cluster.FilePlace]cluster.Files
	// Objects reads the objects of kinds, as observe.ReadObjects does. It is called only for kinds that manifests or the journal name.
	Objects func(ctx context.Context, reads map[guest.Kind][]string) map[guest.Kind]cluster.Objects
}

// NewPreview plans a set of manifests against the present cluster. State is the agent's journal; with the zero State the agent owns nothing.
// It writes neither to the cluster nor to disk: guests without a vmid get none. The plan contains the guards that the manifests would weaken, and plans
// the guests with the guards that would stay in effect.
func NewPreview(
	ctx context.Context, read PreviewReader,
	set manifest.Set, revision string, state journal.State, minimum guard.Minimum, host PreviewPolicy,
) (Preview, error) {
	wanted, err := plan.WantedGuests(set, state)
	if err != nil {
		return Preview{}, err
	}
	resolved := guard.Resolve(guard.Input{Cluster: set.Cluster, Guests: wanted, Policies: set.Policies, State: state, Minimum: minimum, At: time.Now()})
	guests := resolved.Guests
	seen, err := read.Guests(ctx, relevantVMIDs(guests, state), observe.UnderHA(guests), observe.Firewalls(guests))
	if err != nil {
		return Preview{}, fmt.Errorf("read cluster: %w", err)
	}
	images := plan.Images{Wanted: set.Images, Downloaded: state.Downloaded}
	if places := images.Places(seen.Inventory); len(places) > 0 {
		seen.Files = read.Files(ctx, places)
	}
	objects := plan.NewObjects(set.Objects, guests, state)
	if reads := objects.Reads(); len(reads) > 0 {
		seen.Objects = read.Objects(ctx, reads)
	}
	all := withTemplates(ctx, read, guests, seen)
	guests, unplaced := placedInPreview(plan.Desired{Guests: guests, Owned: state.Owned, VMIDs: set.Cluster.VMIDs}, set.Images, set.Objects, all)
	b := &lane.Basis{
		Unplaced: unplaced,
		Objects:  set.Objects, Images: set.Images, AllowedServer: host.AllowedServer,
		Cluster: set.Cluster.Name, Revision: revision, Guests: guests, Policies: gate.NewPolicies(guests), Rules: gate.NewRules(host.Rules.With(policy.CompileRepository(resolved.Policies)), guests, resolved.Left), Guards: resolved.Guards,
		Minimum: minimum, Weakenings: resolved.Weakenings, VMIDs: set.Cluster.VMIDs,
		Limits: host.Limits, Separate: host.SeparateApprover, Inventory: seen.Inventory, Seen: seen.Guests, SeenObjects: seen.Objects, NoWrites: reason.WritesAllowed,
		OwnGuests: map[int]bool{host.OwnVMID: host.OwnVMID != 0},
	}
	b.Withheld = withheldInPreview(guests, state)
	want := b.Desired(state)
	want.Secrets = secret.NewVault(secret.Source{Key: host.Fingerprints}, set.Cluster.Name).CreationStates(want.Guests)
	planned := plan.New(want, all)
	now := time.Now()
	judge := b.Gate(state, now)
	b.Waits = plan.NewOrdering(planned, guests, plan.OrderingOptions{
		Now: now, Released: func(step plan.Step) bool { return !judge.Judge(step).Held }, NoNode: judge.NodeUnavailable,
		Objects: set.Objects, Remembered: state.Guarded, Kept: judge.Keeps,
	}).Waits
	return Preview{Plan: planned, Guests: guests, Images: set.Images, Objects: set.Objects, Observed: seen, Gate: b.Gate(state, now), Larger: largerVolumes(guests, all)}, nil
}

// largerVolumes returns the volumes that are larger than manifests ask for. A clone that is to be made has those of its template.
func largerVolumes(guests []guest.Desired, seen cluster.Snapshot) map[guest.Ref][]guest.Larger {
	larger := make(map[guest.Ref][]guest.Larger)
	for i := range guests {
		d := &guests[i]
		found := []guest.Larger(nil)
		if live, exists := seen.Guests[d.VMID]; exists {
			if live.Kind == d.Kind {
				found = guest.LargerVolumes(*d, live)
			}
		} else if template, isRead := plan.TemplateOf(d, seen); isRead {
			found = guest.LargerInClone(*d, template)
		}
		if len(found) > 0 {
			larger[d.Ref] = found
		}
	}
	return larger
}

// withTemplates returns what was seen with the readings of the guests from which others are cloned: a clone takes over what no manifest mentions. What cannot be
// read is not among them; the problems of the plan name a template that the token may not see.
func withTemplates(ctx context.Context, read PreviewReader, guests []guest.Desired, seen cluster.Snapshot) cluster.Snapshot {
	rows, snapshots := make(map[int]cluster.Row), make(map[int]bool)
	for i := range guests {
		d := &guests[i]
		if _, exists := seen.Guests[d.VMID]; exists || d.Source.Clone == nil {
			continue
		}
		if row, err := plan.FindTemplate(d, seen.Inventory); err == nil {
			rows[row.VMID], snapshots[row.VMID] = row, snapshots[row.VMID] || d.Source.Clone.Snap != ""
		}
	}
	if len(rows) == 0 {
		return seen
	}
	seen.Guests = maps.Clone(seen.Guests)
	for vmid, row := range rows {
		if _, known := seen.Guests[vmid]; known && !snapshots[vmid] {
			continue
		}
		if template, err := read.Guest(ctx, row, snapshots[vmid]); err == nil {
			seen.Guests[vmid] = template
		}
	}
	return seen
}

// withheldInPreview returns the guests that a rollout of the journal has not released. A preview plans them for the manifests, so all of their steps are
// held, as the agent would plan them for their last released revision.
func withheldInPreview(guests []guest.Desired, state journal.State) map[int]gate.Withheld {
	var withheld map[int]gate.Withheld
	settings := make(map[string]guest.Rollout)
	for i := range guests {
		if r := guests[i].Rollout; r.Name != "" {
			if known, isKnown := settings[r.Name]; isKnown {
				r = r.Stricter(known)
			}
			settings[r.Name] = r
		}
	}
	for vmid, s := range state.Staged {
		if !s.Withheld() {
			continue
		}
		if withheld == nil {
			withheld = make(map[int]gate.Withheld)
		}
		r := state.Rollouts[s.Rollout]
		withheld[vmid] = gate.Withheld{Live: s.Commit != "" || settings[s.Rollout].Live, Hold: gate.NewWithheld(rollout.WaitText(s, r, ""), rollout.Hint(r, settings[s.Rollout].Approval))}
	}
	return withheld
}
