// Package backupjob describes the kind BackupJob: at certain times, Proxmox backs up some guests to a storage, and removes older backups of them.
package backupjob

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/kind"
)

// Name is the kind in manifests and labels.
const Name guest.Kind = "BackupJob"

// Native keys that are not simply texts of fields.
const (
	keyAll         = "all"
	keyVMID        = "vmid"
	keyExclude     = "exclude"
	keyPool        = "pool"
	keyNode        = "node"
	keyStorage     = "storage"
	keyEnabled     = "enabled"
	keySchedule    = "schedule"
	keyCompress    = "compress"
	keyRetention   = "prune-backups"
	keyPrune       = "remove"
	keyPaths       = "exclude-path"
	keyFleecing    = "fleecing"
	keyPerformance = "performance"
	keyNotes       = "notes-template"
	keyProtected   = "protected"
	keyMode        = "mode"
	keyBandwidth   = "bwlimit"
	keyLockWait    = "lockwait"
	keyStopWait    = "stopwait"
	keyPriority    = "ionice"
	keyMissed      = "repeat-missed"
	keyStandard    = "stdexcludes"
	keyDetection   = "pbs-change-detection-mode"
)

// jobs are the jobs in the API.
var jobs = kind.Collection{Path: "/cluster/backup", ID: "id"}

// pathSeparator separates the paths of exclude-path in its text. No path contains it, because Proxmox stores a path on one line.
const pathSeparator = "\n"

// Kind returns the kind.
func Kind() *kind.Kind {
	k := &kind.Kind{
		Name: Name, Noun: "backup job", Plural: "backup jobs", Fields: fields(),
		ID: kind.IDRule{
			Want: "the id of a backup job: letters, digits, - and _", Examples: []string{"nightly"}, Max: 50, Pattern: `[A-Za-z0-9][A-Za-z0-9_-]+`,
		},
		Note:       kind.CommentRule{Key: "comment", Max: 512},
		Lower:      lower,
		Resolve:    resolve,
		Read:       read,
		Encode:     encode,
		Calls:      calls,
		Guard:      guest.GuardBackup,
		GuardKeys:  guardKeys(),
		Edges:      edges,
		Weakens:    weakens,
		Privileges: privileges,
	}
	k.Raise = func(o cluster.Object) ([]kind.Raised, []string) { return raise(k, o) }
	return k
}

// guardKeys returns the keys on which it depends what a job keeps.
func guardKeys() []string {
	keys := []string{keySchedule, keyStorage, keyRetention, keyPrune, keyPaths}
	for _, s := range settings {
		keys = append(keys, s.key)
	}
	return keys
}

// read lists the jobs. The list needs Sys.Audit on / and has every job. It has the next time of each job, which a job alone does not have.
//
// Source: PVE API, GET /cluster/backup; PVE::API2::Backup index.
func read(ctx context.Context, get kind.Get, _ []string) ([]cluster.Object, error) {
	rows, err := kind.ReadRows(ctx, get, jobs.Path, jobs.Path)
	if err != nil {
		return nil, err
	}
	var list []cluster.Object
	for _, row := range rows {
		if row.Text("type") == "vzdump" {
			list = append(list, observed(row))
		}
	}
	return list, nil
}

// observed returns a job in canonical texts.
func observed(row kind.Row) cluster.Object {
	o := cluster.Object{ID: row.Text("id"), Keys: map[string]string{}}
	for name := range row {
		switch name {
		case "id", "type", "next-run":
			continue
		case keyRetention:
			o.Keys[name] = retentionText(row.Options(name))
		case keyFleecing, keyPerformance:
			o.Keys[name] = optionsText(row.Options(name))
		case keyPaths:
			o.Keys[name] = strings.Join(row.Texts(name), pathSeparator)
		case keyVMID, keyExclude:
			o.Keys[name] = vmidText(strings.FieldsFunc(row.Text(name), isListSeparator))
		case "mailto":
			o.Keys[name] = strings.Join(strings.FieldsFunc(row.Text(name), isListSeparator), ",")
		case keyCompress:
			o.Keys[name] = cmp.Or(map[string]string{"1": "lzo"}[row.Text(name)], row.Text(name))
		default:
			o.Keys[name] = row.Text(name)
		}
		if o.Keys[name] == "" {
			delete(o.Keys, name)
		}
	}
	if o.Keys[keyEnabled] == "" {
		o.Keys[keyEnabled] = "1"
	}
	if o.Keys[keyAll] == "0" {
		delete(o.Keys, keyAll)
	}
	o.Never = o.Keys[keyEnabled] == "1" && o.Keys[keySchedule] != "" && row.Text("next-run") == ""
	return o
}

// isListSeparator reports whether a character separates the items of a list of Proxmox.
func isListSeparator(r rune) bool { return strings.ContainsRune(",; \t", r) }

// vmidText returns vmids without duplicates, sorted by number.
func vmidText(vmids []string) string {
	vmids = slices.Clone(vmids)
	slices.SortFunc(vmids, compareVMIDs)
	return strings.Join(slices.Compact(vmids), ",")
}

// compareVMIDs compares two numbers without leading zeros.
func compareVMIDs(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

// calls returns the call of a change. Proxmox takes notes and the protection of backups only beside the storage, also of a job that has one.
//
// Source: PVE API, schema of PUT /cluster/backup/{id}, requires.
func calls(c kind.Change) []cluster.Call {
	call := c.Single(Name)
	_, hasStorage := c.Set[keyStorage]
	if storage := c.Got.Keys[keyStorage]; !hasStorage && storage != "" && (c.Set[keyNotes] != "" || c.Set[keyProtected] != "") {
		call.Params = maps.Clone(c.Set)
		call.Params[keyStorage] = storage
	}
	return []cluster.Call{call}
}

// encode returns the request of a call. Paths are an array.
//
// Source: PVE API, POST /cluster/backup, PUT and DELETE /cluster/backup/{id}.
func encode(call cluster.Call) (kind.Request, error) {
	r := jobs.Encode(call)
	if paths, set := r.Params[keyPaths]; set {
		r.Lists = map[string][]string{keyPaths: strings.Split(paths, pathSeparator)}
		delete(r.Params, keyPaths)
	}
	return r, nil
}

// privileges returns what the token needs. A write needs Datastore.Allocate on the storage of the job, which is local if none is set.
//
// Source: PVE API, permissions of /cluster/backup; PVE::API2::Backup, assert_param_permission_common.
func privileges(d kind.Desired) []guest.Need {
	need := func(path, privilege, key string) guest.Need {
		return guest.Need{Path: path, Privilege: privilege, Key: key, Origin: d.Origin}
	}
	storage, _ := d.Text(keyStorage)
	needs := []guest.Need{
		need("/", "Sys.Audit", "id"), need("/", "Sys.Modify", "id"), need("/storage/"+cmp.Or(storage, "local"), "Datastore.Allocate", keyStorage),
	}
	if pool, _ := d.Text(keyPool); pool != "" {
		needs = append(needs, need("/pool/"+pool, "VM.Backup", keyPool))
	}
	fleecing, _ := d.Text(keyFleecing)
	if storage := parseOptions(fleecing)["storage"]; storage != "" {
		needs = append(needs, need("/storage/"+storage, "Datastore.AllocateSpace", keyFleecing))
	}
	return needs
}
