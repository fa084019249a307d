package pvesim

import "time"

// Options configure a Sim. The zero value is a cluster of one node, pve1, with the storages local (directory), local-lvm (LVM thin)
// and local2 (directory), the bridges vmbr0 and vmbr1, and the tokens of DefaultTokens.
type Options struct {
	Nodes    []string  // names; default pve1
	Storages []Storage // default: see above
	Version  string    // default 9.2.11
	Tokens   []Token   // default DefaultTokens
	Users    []User    // accounts whose privileges limit those of their tokens; a user who is not listed sets no limit
	Cluster  Datacenter
	Bridges  []string // default vmbr0 and vmbr1; a VM does not start with another bridge
	CPUs     int      // cores of a node and limit of a VM; default 64
	Memory   int64    // of a node in bytes and limit of a VM; default 256 GiB
	Seed     uint64   // of every generated MAC address, uuid and guest
	Guests   int      // number of generated guests, from vmid 1000 on without 9000 to 9999; every fourth is a container

	TaskTime  time.Duration            // how long a task takes; default 50 ms
	TaskTimes map[string]time.Duration // by task type (qmcreate, vzstart, ...), in place of TaskTime

	TaskArchive int // number of ended tasks in a node's index; older tasks are unknown; default 1000, the minimum in Proxmox

	VMListFile string // path of a file like /etc/pve/.vmlist: a version per guest that rises with every change; default none

	Latency           time.Duration            // added to every call: the network round trip
	Latencies         map[string]time.Duration // of single routes, by "METHOD /path/{with}/variables", in place of Latency: work that occupies one of Workers
	UnauthorizedDelay time.Duration            // before a 401; Proxmox waits 3 s; default none
	ResourcesPeriod   time.Duration            // how often run states, names and sizes in /cluster/resources are updated; Proxmox 10 s; default at once
	ResourcesCache    time.Duration            // how long each of three front workers, used in turn, caches those values; Proxmox 2 s; default not at all
	HADelay           time.Duration            // delay before the HA manager acts on a request; default 10 s, negative never acts
	LockTimeout       time.Duration            // how long a write waits for a guest's lock; default 10 s, as Proxmox
	ProxyTimeout      time.Duration            // after which the proxy answers 596 while the call continues; default 30 s, as Proxmox; negative never
	Workers           int                      // concurrent calls of a node, with separate limits for calls that need root and for other calls; default 3, as Proxmox; negative no limit
}

// Storage is one storage, known to all nodes by its name.
type Storage struct {
	ID      string
	Type    string // dir or lvmthin
	Path    string // of a dir storage; shown in task logs
	Content string // comma-separated content types
	Size    int64  // bytes; 0 means 252 GiB
	Thick   bool   // volumes use their whole size at once, up to Size in total; otherwise the storage is full only after FillStorage
	Nodes   string // comma-separated nodes that have the storage; "" means all
	Shared  bool   // between the nodes, so that a running VM migrates without copying
}

// Datacenter holds the options of the whole cluster, as in datacenter.cfg.
type Datacenter struct {
	Scheduler         map[string]string // of the HA manager ("crs"): ha, ha-rebalance-on-start, ha-auto-rebalance
	CaseSensitiveTags bool              // tags keep their case
	TagsAsGiven       bool              // tags keep their order ("ordering=config")
	RegisteredTags    []string          // only callers with Sys.Modify on / may set them
	TagAccess         string            // user-tag-access: free (default), existing, list or none
	AllowedTags       []string          // with TagAccess list, and with existing in addition to the tags in use
	LowestID          int               // the lowest id that nextid returns; default 100
	HighestID         int               // nextid returns lower ids only; default 1000000
}

// User is an account. A token has the privileges that both its own ACL and its user's ACL grant.
type User struct {
	ID       string // user@realm
	ACL      []ACL
	Disabled bool // its tokens are rejected
}

// Token is an API token. It has privilege separation unless SharesUser is set: it has the privileges in its own ACL, limited to those of
// its user.
type Token struct {
	ID         string // user@realm!name
	Secret     string
	ACL        []ACL     // without entries root@pam has every privilege, other users none
	SharesUser bool      // no privilege separation: the token has its user's privileges, and ACL is ignored
	Expires    time.Time // the token is rejected from this time on; zero means never
}

// ACL grants a role or single privileges on a path and everything below it.
type ACL struct {
	Path       string
	Role       string   // a predefined role of Proxmox such as PVEVMAdmin or NoAccess; an unknown role grants nothing
	Privileges []string // in addition to those of the role
}

// DefaultTokens returns root@pam!full with every privilege, gitops@pve!agent with the privileges that a reconciler needs on /, and
// gitops@pve!ro with PVEAuditor on /.
func DefaultTokens() []Token {
	return []Token{
		{ID: "root@pam!full", Secret: "5eed0000-0000-4000-8000-000000000001"},
		{ID: "gitops@pve!agent", Secret: "5eed0000-0000-4000-8000-000000000002", ACL: []ACL{{Path: "/", Privileges: agentPrivileges}}},
		{ID: "gitops@pve!ro", Secret: "5eed0000-0000-4000-8000-000000000003", ACL: []ACL{{Path: "/", Role: "PVEAuditor"}}},
	}
}

const defaultHADelay = 10 * time.Second

const defaultStorageSize = 270553174016

func (o Options) withDefaults() Options {
	if len(o.Nodes) == 0 {
		o.Nodes = []string{"pve1"}
	}
	if len(o.Storages) == 0 {
		o.Storages = []Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
			{ID: "local-lvm", Type: "lvmthin", Content: "images,rootdir"},
			{ID: "local2", Type: "dir", Path: "/var/lib/vz2", Content: "images,iso,rootdir"},
		}
	}
	if len(o.Bridges) == 0 {
		o.Bridges = []string{"vmbr0", "vmbr1"}
	}
	if o.CPUs == 0 {
		o.CPUs = 64
	}
	if o.Memory == 0 {
		o.Memory = 256 * gib
	}
	if o.Version == "" {
		o.Version = "9.2.11"
	}
	if o.Tokens == nil {
		o.Tokens = DefaultTokens()
	}
	if o.TaskTime == 0 {
		o.TaskTime = 50 * time.Millisecond
	}
	if o.HADelay == 0 {
		o.HADelay = defaultHADelay
	}
	if o.TaskArchive == 0 {
		o.TaskArchive = 1000
	}
	if o.Cluster.LowestID == 0 {
		o.Cluster.LowestID = 100
	}
	if o.Cluster.HighestID == 0 {
		o.Cluster.HighestID = 1000000
	}
	if o.ProxyTimeout == 0 {
		o.ProxyTimeout = defaultProxyTimeout
	}
	if o.Workers == 0 {
		o.Workers = defaultWorkers
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 10 * time.Second
	}
	return o
}
