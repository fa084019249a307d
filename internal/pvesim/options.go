package pvesim

import "time"

// Options shape a Sim. The zero value is a cluster of one node, pve1, with the storages local (directory), local-lvm (LVM thin)
// and local2 (directory), the bridges vmbr0 and vmbr1, and the tokens of DefaultTokens.
type Options struct {
	Nodes    []string  // names; default pve1
	Storages []Storage // default see above
	Version  string    // default 9.2.11
	Tokens   []Token   // default DefaultTokens
	Users    []User    // accounts that bound what their tokens may; a user who is not listed bounds nothing
	Cluster  Datacenter
	Bridges  []string // default vmbr0 and vmbr1; a VM does not start on another
	CPUs     int      // cores of a node, which a VM cannot exceed; default 64
	Memory   int64    // of a node in bytes, which a VM cannot exceed; default 256 GiB
	Seed     uint64   // of every generated MAC address, uuid and guest
	Guests   int      // generated guests to start with, from vmid 1000 on; every fourth is a container

	TaskTime  time.Duration            // how long a task takes; default 50 ms
	TaskTimes map[string]time.Duration // by task type (qmcreate, vzstart, ...), before TaskTime

	TaskArchive int // ended tasks that a node remembers; older ones are unknown; default 1000, as Proxmox keeps at least

	VMListFile string // kept like /etc/pve/.vmlist when not empty: a version per guest that rises with every change

	Latency           time.Duration            // added to every call: the way there and back
	Latencies         map[string]time.Duration // of single routes, by "METHOD /path/{with}/variables", instead of Latency: work that one of Workers does
	UnauthorizedDelay time.Duration            // before a 401; Proxmox waits 3 s; default none
	ResourcesPeriod   time.Duration            // how often /cluster/resources learns run states, names and sizes; Proxmox 10 s; default at once
	ResourcesCache    time.Duration            // how long each of three front workers keeps what it read of that, in turn; Proxmox 2 s; default none
	HADelay           time.Duration            // how late the HA manager acts on a changed wish; default 10 s, negative never
	LockTimeout       time.Duration            // how long a write waits for a guest's lock; default 10 s, as Proxmox
	ProxyTimeout      time.Duration            // after which the proxy answers 596 to a call that goes on; default 30 s, as Proxmox; negative never
	Workers           int                      // calls that a node does at once, those that need root and the others apart, while the rest waits; default 3, as Proxmox; negative any number
}

// Storage is one storage, known to all nodes by its name.
type Storage struct {
	ID      string
	Type    string // dir or lvmthin
	Path    string // of a dir storage; shown in task logs
	Content string // comma-separated content types
	Size    int64  // bytes; 0 means 252 GiB
	Thick   bool   // volumes take their whole size at once, and no more than Size fits; otherwise only FillStorage fills it
	Shared  bool   // between the nodes, so that a running VM moves without copying
}

// Datacenter are the options of the whole cluster, as in its datacenter.cfg.
type Datacenter struct {
	CaseSensitiveTags bool     // tags keep their case
	TagsAsGiven       bool     // tags keep their order ("ordering=config")
	RegisteredTags    []string // only for those with Sys.Modify on /
	TagAccess         string   // user-tag-access: free (default), existing, list or none
	AllowedTags       []string // with TagAccess list, and with existing beside the tags in use
	LowestID          int      // that nextid hands out; default 100
	HighestID         int      // nextid stays below; default 1000000
}

// User is an account. A token may what both the token and its user may.
type User struct {
	ID       string // user@realm
	ACL      []ACL
	Disabled bool // its tokens are refused
}

// Token is an API token, with privilege separation unless SharesUser says otherwise: what the ACL of the token says, as far as its user
// may that too.
type Token struct {
	ID         string // user@realm!name
	Secret     string
	ACL        []ACL     // empty for a user root@pam means every privilege, for others none
	SharesUser bool      // no privilege separation: what the user may, and ACL does not matter
	Expires    time.Time // refused from then on; zero never
}

// ACL grants a role or single privileges on a path and everything below it.
type ACL struct {
	Path       string
	Role       string   // one of Proxmox's own, such as PVEVMAdmin or NoAccess; unknown ones grant nothing
	Privileges []string // in addition to the role's
}

// DefaultTokens are root@pam!full with every privilege, gitops@pve!agent with what a reconciler needs on /, and
// gitops@pve!ro with PVEAuditor on /.
func DefaultTokens() []Token {
	return []Token{
		{ID: "root@pam!full", Secret: "5eed0000-0000-4000-8000-000000000001"},
		{ID: "gitops@pve!agent", Secret: "5eed0000-0000-4000-8000-000000000002", ACL: []ACL{{Path: "/", Privileges: agentPrivileges}}},
		{ID: "gitops@pve!ro", Secret: "5eed0000-0000-4000-8000-000000000003", ACL: []ACL{{Path: "/", Role: "PVEAuditor"}}},
	}
}

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
