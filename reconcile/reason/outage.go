package reason

import "gitops-agent/reconcile/event"

// Part is a part of the agent's world that can fail as a whole. Each has reasons of its own, whose types are in other packages.
type Part string

// The parts.
const (
	Source  Part = "source"  // the remotes: fault.Fault of gitsource
	Proxmox Part = "proxmox" // the cluster: cluster.Outage
	Journal Part = "journal" // journal.Fault
)

// OutageRow is what every outlet says about a reason of a part. The reason that means that the part works has no row.
type OutageRow struct {
	Part     Part
	Name     string
	Act      Act
	Severity Severity
	Sentence string
	Remedy   Remedy // zero if the report has it, or nothing is to be done
	Event    event.Name
}

// Outages returns one row for each reason of a part that does not work.
func Outages() []OutageRow {
	list := make([]OutageRow, 0, len(outages))
	for _, r := range outages {
		r.Severity, r.Event = SeverityWarning, event.SourceLost
		switch r.Part {
		case Source:
		case Proxmox:
			r.Event = event.ClusterLost
		case Journal:
			r.Severity, r.Event = SeverityError, event.JournalFailed
		}
		list = append(list, r)
	}
	return list
}

// Outage returns the row of a reason of a part. An unknown reason has an empty one.
func Outage(part Part, name string) OutageRow {
	for _, r := range Outages() {
		if r.Part == part && r.Name == name {
			return r
		}
	}
	return OutageRow{Part: part, Name: name}
}

var outages = []OutageRow{
	{Part: Source, Name: "unread", Act: Wait, Sentence: "no fetch has ended since the start"},
	{Part: Source, Name: "unreachable", Act: FixHost, Sentence: "no connection, or the name of the host is not known", Remedy: CheckAddress},
	{Part: Source, Name: "tls", Act: FixHost, Sentence: "the certificate, or the ssh host key, is not trusted", Remedy: CheckHostKey},
	{Part: Source, Name: "late", Act: Wait, Sentence: "no reply in time", Remedy: CheckLatency},
	{Part: Source, Name: "unauthorized", Act: FixHost, Sentence: "401 or 403, or the ssh key is not accepted", Remedy: CheckCredentials},
	{Part: Source, Name: "not-found", Act: FixHost, Sentence: "404, or the repository does not have the branch", Remedy: CheckBranch},
	{Part: Source, Name: "status", Act: Wait, Sentence: "another HTTP status"},
	{Part: Source, Name: "invalid", Act: FixHost, Sentence: "not a reply of a git repository, or not a complete one"},
	{Part: Source, Name: "incomplete-history", Act: FixHost, Sentence: "a shallow or damaged repository: it names commits or files that it does not have"},
	{Part: Source, Name: "behind", Act: Wait, Sentence: "an older commit than what another remote served"},
	{Part: Source, Name: "local", Act: FixHost, Sentence: "the disk, a file of the configuration, or the store on this machine"},
	{Part: Proxmox, Name: "unread", Act: Wait, Sentence: "nothing was read since the start"},
	{Part: Proxmox, Name: "unreachable", Act: FixCluster, Sentence: "no connection"},
	{Part: Proxmox, Name: "tls", Act: FixHost, Sentence: "the certificate is not trusted, or there is no TLS"},
	{Part: Proxmox, Name: "late", Act: Wait, Sentence: "no reply in time"},
	{Part: Proxmox, Name: "broken", Act: Wait, Sentence: "the connection ended before the reply was complete"},
	{Part: Proxmox, Name: "invalid", Act: FixHost, Sentence: "a reply that is not from the API, or endpoints that answer differently"},
	{Part: Proxmox, Name: "unauthorized", Act: FixHost, Sentence: "401: the token is not valid"},
	{Part: Proxmox, Name: "denied", Act: FixCluster, Sentence: "403: the token lacks a privilege"},
	{Part: Proxmox, Name: "unavailable", Act: FixCluster, Sentence: "a node or a daemon behind the endpoint does not answer"},
	{Part: Proxmox, Name: "no-quorum", Act: FixCluster, Sentence: "the cluster has no quorum"},
	{Part: Proxmox, Name: "too-old", Act: FixCluster, Sentence: "the release of Proxmox is not supported"},
	{Part: Proxmox, Name: "failed", Act: FixCluster, Sentence: "another failed reply"},
	{Part: Journal, Name: "disk-full", Act: FixHost, Sentence: "no space, or the quota of the user or of etcd is used up", Remedy: FreeDisk},
	{Part: Journal, Name: "read-only", Act: FixHost, Sentence: "the file system is read-only", Remedy: FreeDisk},
	{Part: Journal, Name: "denied", Act: FixHost, Sentence: "the directory belongs to another user, or etcd refuses the user", Remedy: FreeDisk},
	{Part: Journal, Name: "gone", Act: FixHost, Sentence: "the state directory was removed or replaced", Remedy: FreeDisk},
	{Part: Journal, Name: "damaged", Act: FixHost, Sentence: "the journal is damaged", Remedy: FreeDisk},
	{Part: Journal, Name: "failed", Act: FixHost, Sentence: "another error of the disk", Remedy: FreeDisk},
	{Part: Journal, Name: "store-rolled-back", Act: FixHost, Sentence: "the service shows less than this host has seen acknowledged", Remedy: RestoreStore},
	{Part: Journal, Name: "not-leader", Act: Wait, Sentence: "another agent leads, or may lead", Remedy: AwaitLeader},
	{Part: Journal, Name: "store-unreachable", Act: FixHost, Sentence: "the service does not answer", Remedy: BringStoreBack},
}
