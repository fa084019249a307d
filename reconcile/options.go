package reconcile

import (
	"log/slog"
	"time"

	"gitops-agent/gitsource"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guard"
	"gitops-agent/reconcile/health"
	"gitops-agent/reconcile/hostguest"
	"gitops-agent/reconcile/intake"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/pause"
	"gitops-agent/reconcile/policy"
	"gitops-agent/reconcile/queue"
	"gitops-agent/reconcile/recovery"
	"gitops-agent/reconcile/report"
	"gitops-agent/reconcile/retry"
	"gitops-agent/reconcile/secret"
	"gitops-agent/reconcile/writer"
	"gitops-agent/verify"
)

// Options configures an Engine. Cluster, Source, Policy, Journal and Scope.Cluster are required.
type Options struct {
	Cluster cluster.Cluster
	Source  *gitsource.Source
	Policy  func() (*verify.Policy, error) // the policy in force; called at every check
	Journal *journal.Journal
	// RootDoubt returns why a newer trusted root may exist than that of the policy in force; nil if none does, and nil never asks.
	RootDoubt func() error
	Scope     intake.Scope
	Branch    string

	Poll      time.Duration          // between polls of the remote; 0 is 30 s
	Tick      time.Duration          // between inventories; 0 is 15 s
	Resync    time.Duration          // within which every guest is read in full; 0 is 60 s
	VMList    string                 // the vmlist file, /etc/pve/.vmlist on a node; "" uses none
	Check     time.Duration          // within which guests are read in full that did not change according to VMList; 0 is 10 times Resync
	Parallel  int                    // lanes that work at the same time, without those that only wait for a task; 0 is 8
	Limits    queue.Limits           // of the resources that these lanes share
	Tasks     cluster.TaskTimes      // how long tasks may run
	Evidence  intake.Evidence        // about commits of gitsign's online mode; nil finds none
	Promotion *intake.Promotion      // what another cluster must have matched; nil is no such rule
	Separate  bool                   // approvals of the people who introduced a step do not count for it: trust.guards.separateApprover
	Shutdown  time.Duration          // how long lanes may still take after the end of Run's context; 0 is 30 s
	DryRun    bool                   // plan and report, write nothing
	Standby   string                 // why this agent only follows: another one leads. Implies DryRun; "" leads
	Quiet     time.Time              // until then, nothing is done for objects with steps that another agent left open
	Replica   func() *report.Replica // which of several agents this one is; nil if there is only one
	Refused   func() error           // why the service of the journal takes neither records nor a leader although it can be read; nil with a journal in files
	Floors    writer.Keeper          // stores the floor and the writer outside the state directory; nil stores none
	TakeOver  bool                   // claim the cluster even if another agent has claimed it
	Wait      time.Duration          // after a claim of the cluster, before the first write; 0 is 3 s
	Note      intake.RewriteNote     // where allow-rewrite leaves its note; the zero value reads none
	Pause     pause.File             // stops all writes while it exists; the zero value never does
	Recover   recovery.Note          // releases claims of guests whose records were lost; the zero value releases none
	Retry     retry.File             // asks that guests are tried again at once; the zero value asks for nothing
	Secrets   secret.Source          // of the secrets that manifests name
	Minimum   guard.Minimum          // of the guards; no approval goes below it
	Health    health.Options         // of the checks in spec.health
	// AllowedServer reports whether nodes may download the files of Images from a server, "cloud.debian.org" or "10.0.0.1:8080"; nil allows none.
	AllowedServer func(server string) bool
	Rules         *policy.Set     // of the host; nil without policies
	Self          hostguest.Facts // of the machine on which the agent runs; the zero value is no guest of the cluster
	Logger        *slog.Logger    // nil logs nothing
	Hooks         Hooks

	Endpoints func() []cluster.Endpoint // the state of each endpoint of the cluster, for the report; nil reports none
}
