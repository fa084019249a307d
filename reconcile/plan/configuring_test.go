package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/internal/fixture"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/secret"
)

// TestIgnoredFieldsOfANewGuest: fields of ignoreFields are planned until a guest that the agent created was seen with them, and of no other guest.
func TestIgnoredFieldsOfANewGuest(t *testing.T) {
	t.Parallel()
	record := func(origin journal.Origin, configuring, claiming bool) journal.Owned {
		owned := fixture.Owned201()
		owned.Origin, owned.Configuring, owned.Claiming = origin, configuring, claiming
		return owned
	}
	made := record(journal.Created, true, false)
	ignoring := func(ignore ...string) guest.Desired {
		d := fixture.WantWeb(guest.Intent{Key: "description", Verb: guest.Want, Text: "one"}, fixture.MemoryIntent("4096"))
		d.Ignore = ignore
		return d
	}
	withSecret := ignoring("memory", "description", "cipassword")
	withSecret.Secrets = []guest.Secret{fixture.WebPassword}
	inPool := ignoring("memory", "description", "pool", "ha")
	inPool.Pool, inPool.HA = "prod", &guest.HAWanted{State: "started"}
	unread := &secret.Error{Name: "web", Reason: "it is not there"}
	tests := map[string]struct {
		want       guest.Desired
		owned      journal.Owned
		live       guest.Observed
		secrets    *secret.Error
		changes    []string
		configured bool
	}{
		"new":               {want: ignoring("memory", "description"), owned: made, live: fixture.LiveWeb("stopped"), changes: []string{"description", "memory"}},
		"before_its_tag":    {want: ignoring("memory", "description"), owned: record(journal.Created, true, true), live: untagged(fixture.LiveWeb("stopped")), changes: []string{"description", "memory", "tags"}},
		"half_configured":   {want: ignoring("memory", "description"), owned: made, live: fixture.LiveWeb("stopped", "description", "one"), changes: []string{"memory"}},
		"configured":        {want: ignoring("memory", "description"), owned: made, live: fixture.LiveWeb("stopped", "description", "one", "memory", "4096"), configured: true},
		"others_are_left":   {want: ignoring("memory"), owned: made, live: fixture.LiveWeb("stopped", "memory", "4096"), changes: []string{"description"}, configured: true},
		"waits_for_restart": {want: ignoring("memory", "description"), owned: made, live: waiting(fixture.LiveWeb("running", "description", "one"), "memory", "4096"), changes: []string{"memory"}, configured: true},
		"ignores_nothing":   {want: ignoring(), owned: made, live: fixture.LiveWeb("stopped"), changes: []string{"description", "memory"}, configured: true},
		"seen":              {want: ignoring("memory", "description"), owned: record(journal.Created, false, false), live: fixture.LiveWeb("stopped")},
		"older_creation":    {want: ignoring("memory", "description"), owned: record(journal.Created, false, true), live: fixture.LiveWeb("stopped")},
		"adopted":           {want: ignoring("memory", "description"), owned: record(journal.Adopted, false, true), live: fixture.LiveWeb("stopped")},
		"recovered":         {want: ignoring("memory", "description"), owned: record(journal.Recovered, false, false), live: fixture.LiveWeb("stopped")},
		"secret": {
			want: withSecret, owned: made, live: fixture.LiveWeb("stopped", "description", "one", "memory", "4096"), changes: []string{"cipassword"},
		},
		"secret_that_is_missing": {
			want: withSecret, owned: made, live: fixture.LiveWeb("stopped", "description", "one", "memory", "4096"), secrets: unread,
		},
		"pool_and_ha": {want: inPool, owned: made, live: fixture.LiveWeb("stopped", "description", "one", "memory", "4096"), changes: []string{"ha"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Desired{
				Cluster: "home", Guests: []guest.Desired{test.want}, Owned: map[int]journal.Owned{201: test.owned},
				Secrets: map[secret.Place]secret.State{{VMID: 201, Key: "cipassword"}: {Problem: test.secrets}},
			}
			got := New(want, cluster.Snapshot{Guests: map[int]guest.Observed{201: test.live}}).Guests[0]
			var changes []string
			for _, c := range got.Changes {
				changes = append(changes, c.Key)
			}
			if diff := cmp.Diff(test.changes, changes); diff != "" || got.Configured != test.configured {
				t.Errorf("got configured %t, want %t; changes differ (-want +got):\n%s", got.Configured, test.configured, diff)
			}
		})
	}
}

// untagged returns a guest without its tag.
func untagged(live guest.Observed) guest.Observed {
	delete(live.Keys, "tags")
	return live
}

// waiting returns a guest with a value that waits for its next start.
func waiting(live guest.Observed, key, text string) guest.Observed {
	value := live.Keys[key]
	value.Pending = &text
	live.Keys[key] = value
	return live
}
