package pvesim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/recordings"
)

// secondSeries returns the recordings of another host, made later. Its guests have ids from 9700 on. Reads of tasks and of configurations are folded
// into the call that they follow.
func secondSeries(t *testing.T) series {
	var files []recordings.File
	for _, f := range recordings.Second(t) {
		if secondScope[f.Name] != "" {
			files = append(files, f)
		}
	}
	return series{
		name: "second", files: files, scope: secondScope, entries: 1359, floor: 1347, start: startSecond, actions: secondActions, exceptions: secondExceptions, stubbed: secondStubbed,
	}
}

// startSecond starts the cluster of the second series. "ticket" is a login of root@pam, which the simulator knows as a token with that name.
func startSecond(r *replay) {
	r.sim = New(Options{
		Nodes: []string{r.rename.text("pve1")},
		Storages: []Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
			{ID: r.rename.text("local-lvm"), Type: "dir", Path: "/var/lib/local-lvm", Content: "images,rootdir"},
		},
		Tokens: []Token{
			{ID: "root@pam!full", Secret: "5eed0000-0000-4000-8000-000000000001"},
			{ID: "root@pam", Secret: "5eed0000-0000-4000-8000-000000000005"},
			{ID: "gitops@pve!agent", Secret: "5eed0000-0000-4000-8000-000000000002", ACL: []ACL{{Path: "/", Privileges: gitopsRole}}},
			{ID: "root@pam!ro9700", Secret: "5eed0000-0000-4000-8000-000000000003", ACL: []ACL{{Path: "/", Role: "PVEAuditor"}}},
			{ID: "root@pam!none9700", Secret: "5eed0000-0000-4000-8000-000000000004", ACL: []ACL{{Path: "/", Role: "NoAccess"}}},
		},
		TaskTime:        20 * time.Millisecond,
		HADelay:         -1,
		ResourcesPeriod: 10 * time.Second,
		CPUs:            2, Memory: 25276510208,
	})
	r.tokens = map[string]string{
		"full": r.sim.Token("root@pam!full"), "agent": r.sim.Token("gitops@pve!agent"), "ro": r.sim.Token("root@pam!ro9700"),
		"none": r.sim.Token("root@pam!none9700"), "ticket": r.sim.Token("root@pam"),
	}
	for id, size := range map[string]int64{
		"local:iso/tiny.iso": 350 << 10, "local:iso/other.iso": 350 << 10, "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst": 2 << 20,
		"local:import/big.raw": 400000000, "local:import/tiny.qcow2": 393216, "local:import/tiny.raw": 67108864, "local:snippets/h.pl": 17,
	} {
		if err := r.sim.AddVolume(id, size); err != nil {
			r.t.Fatal(err)
		}
	}
}

// gitopsRole is the role of the recorder's limited token, from file 63 on.
var gitopsRole = strings.Fields(`VM.Allocate VM.Audit VM.Clone VM.Config.CDROM VM.Config.CPU VM.Config.Cloudinit VM.Config.Disk VM.Config.HWType
	VM.Config.Memory VM.Config.Network VM.Config.Options VM.Migrate VM.PowerMgmt Datastore.Audit Datastore.AllocateSpace SDN.Use Sys.Audit Pool.Audit
	Pool.Allocate`)

// makeWay removes a guest that the recorder removed between two entries of the second series, so that its vmid was free for the next create.
func (r *replay) makeWay(e recordings.Exchange) {
	if r.of.name != "second" || e.Method != http.MethodPost || e.Status != http.StatusOK || e.Body == nil {
		return
	}
	body, err := url.ParseQuery(*e.Body)
	if err != nil || body.Get("force") == "1" {
		return
	}
	for _, id := range []string{"vmid", "newid"} {
		isCreate := strings.HasSuffix(e.URL, "/qemu") || strings.HasSuffix(e.URL, "/lxc") || strings.HasSuffix(e.URL, "/clone")
		if vmid := r.vmid(atoi(body.Get(id))); isCreate && r.sim.Config(vmid) != "" {
			r.removeWithVolumes(vmid)
		}
	}
}

func (r *replay) removeWithVolumes(vmid int) {
	if err := r.sim.RemoveGuest(vmid); err != nil {
		r.t.Fatal(err)
	}
	_ = r.sim.locked(func() error {
		for _, v := range r.sim.volumesOf(vmid) {
			r.sim.free(v.ID, freedOnHost)
		}
		return nil
	})
}

// followed compares what the recorder folded into a call: how its task ended, and the configuration afterwards.
func (r *replay) followed(recorded, e recordings.Exchange) string {
	if r.of.name != "second" {
		return ""
	}
	if r.upids[upidPattern.FindString(e.Reply)] != "" && e.Method != http.MethodGet && !overlapping[recorded.Reply] {
		if diff := r.taskEnd(e); diff != "" {
			return diff
		}
	}
	if len(e.ReadBack) > 0 {
		return r.readBack(e)
	}
	return ""
}

// overlapping are the replies with tasks that had not ended when the recorder sent the next call.
var overlapping = map[string]bool{
	`{"data":"UPID:pve1:00004B64:00088486:6B02B295:qmshutdown:9708:root@pam!full:"}`: true,
	`{"data":"UPID:pve1:000054D8:00089E01:6B02B2D6:qmshutdown:9708:root@pam!full:"}`: true,
}

// sequel reads a path after an entry.
func (r *replay) sequel(path string) answer {
	return r.send(recordings.Exchange{Method: http.MethodGet, URL: apiRoot + path, Token: "full"})
}

func (r *replay) taskEnd(e recordings.Exchange) string {
	name := upidPattern.FindString(e.Reply)
	upid, node := r.upids[name], r.sim.opts.Nodes[0]
	var ended struct {
		Data struct{ Status, Type, Exitstatus string }
	}
	for range 3000 {
		body := r.sequel("/nodes/" + node + "/tasks/" + url.PathEscape(upid) + "/status").body
		if err := json.Unmarshal([]byte(body), &ended); err != nil {
			return "  got " + body
		}
		if ended.Data.Status == "stopped" {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	want := r.normalize(r.rename.text(e.TaskExit))
	got := r.normalize(ended.Data.Exitstatus)
	if e.TaskType != "" && (ended.Data.Type != e.TaskType || got != want) {
		return fmt.Sprintf("  got  task %s: %s\n  want task %s: %s", ended.Data.Type, got, e.TaskType, want)
	}
	return ""
}

// readBack compares the keys of the configuration that the recorder kept.
func (r *replay) readBack(e recordings.Exchange) string {
	path := strings.TrimPrefix(e.URL, apiRoot)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 3 {
		return ""
	}
	vmid := ""
	if len(parts) > 3 {
		vmid = parts[3]
	}
	if e.Body != nil {
		if q, err := url.ParseQuery(*e.Body); err == nil {
			for _, k := range []string{"vmid", "newid"} {
				if q.Get(k) != "" {
					vmid = q.Get(k)
				}
			}
		}
	}
	var want, got map[string]any
	if err := json.Unmarshal([]byte(r.rename.text(string(e.ReadBack))), &want); err != nil {
		return "  got " + err.Error()
	}
	var reply struct{ Data map[string]any }
	body := r.sequel("/nodes/" + parts[1] + "/" + parts[2] + "/" + vmid + "/config").body
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		return "  got " + body
	}
	got = map[string]any{}
	for k, v := range reply.Data {
		if _, wanted := want[k]; wanted || keptReadBack(k) {
			got[k] = v
		}
	}
	g, w := r.normalize(marshal(r.t, got)), r.normalize(marshal(r.t, want))
	if g != w {
		return fmt.Sprintf("  got  %s\n  want %s afterwards", missingWords(g, w), missingWords(w, g))
	}
	return ""
}

func marshal(t *testing.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// keptReadBack reports whether the recorder kept the key when it folded a configuration into a call.
func keptReadBack(key string) bool {
	switch key {
	case "memory", "smbios1", "vmgenid", "balloon", "parent", "template", "shares", "numa":
		return true
	}
	stem, index, ok := splitIndex(key)
	return ok && (stem == "scsi" && index == 0 || stem == "unused" || stem == "numa")
}
