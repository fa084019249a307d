package control

import (
	"fmt"
	"net/http"
	"time"

	"gitops-agent/internal/pvesim"
)

// setNode stops, starts or reboots a node.
func setNode(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	var q struct {
		State string `json:"state"`
		Takes string `json:"takes"` // duration of a reboot, in Go's syntax; default 30s
	}
	if !readJSON(w, r, &q) {
		return
	}
	takes := 30 * time.Second
	if q.Takes != "" {
		var err error
		if takes, err = time.ParseDuration(q.Takes); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	node := r.PathValue("node")
	switch q.State {
	case "stopped":
		sim.StopNode(node)
	case "started":
		sim.StartNode(node)
	case "rebooted":
		sim.RebootNode(node, takes)
	default:
		http.Error(w, fmt.Sprintf("state: got %q, want stopped, started or rebooted", q.State), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func setQuorum(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	var q struct {
		Quorate bool `json:"quorate"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	if q.Quorate {
		sim.RegainQuorum()
	} else {
		sim.LoseQuorum()
	}
	w.WriteHeader(http.StatusNoContent)
}

// upgrade gives the nodes another release, or migrates their HA groups, or both.
func upgrade(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	var q struct {
		Version string `json:"version"`
		Migrate bool   `json:"migrate"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	if q.Version != "" {
		sim.Upgrade(q.Version)
	}
	if q.Migrate {
		sim.MigrateGroups()
	}
	w.WriteHeader(http.StatusNoContent)
}

func fillStorage(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	var q struct {
		Full bool `json:"full"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	if q.Full {
		sim.FillStorage(r.PathValue("storage"))
	} else {
		sim.DrainStorage(r.PathValue("storage"))
	}
	w.WriteHeader(http.StatusNoContent)
}

// setPrivileges replaces the ACL of a token by one path with a role and privileges.
func setPrivileges(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	var q struct {
		ID         string   `json:"id"`
		Path       string   `json:"path"`
		Role       string   `json:"role"`
		Privileges []string `json:"privileges"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	sim.SetPrivileges(q.ID, []pvesim.ACL{{Path: q.Path, Role: q.Role, Privileges: q.Privileges}})
	w.WriteHeader(http.StatusNoContent)
}

// announceLoss permits the loss of a guest or a volume. After the first call, every other loss is a violation.
func announceLoss(w http.ResponseWriter, r *http.Request, sim *pvesim.Sim) {
	var q struct {
		VMID   int    `json:"vmid"`
		Marker string `json:"marker"`
		Volume string `json:"volume"`
	}
	if !readJSON(w, r, &q) {
		return
	}
	sim.Guard()
	if q.VMID != 0 {
		sim.AnnounceDestroy(q.VMID, q.Marker)
	}
	if q.Volume != "" {
		sim.AnnounceFree(q.Volume)
	}
	w.WriteHeader(http.StatusNoContent)
}
