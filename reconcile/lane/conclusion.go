package lane

import (
	"maps"
	"time"

	"gitops-agent/reconcile/journal"
)

// conclusion is the outcome of a step's calls.
type conclusion struct {
	result     journal.Result // "" while the outcome is not known
	at         time.Time      // when the calls had ended at the latest; of a step of an earlier process, when it began
	err        error
	done       int                 // calls that had their effect
	dispatched int                 // calls that Proxmox accepted
	given      map[string]string   // fingerprints of the secrets that the calls set, by key
	task       string              // UPID of the last call, "" if it has none
	log        string              // the last lines of the log of the last call's task, if they were read
	sent       bool                // the last call was sent, or may have been sent
	lifted     bool                // the step has taken the protection from its guest for its calls, or may have
	refused    bool                // Proxmox refused a configuration of the step, or may have: it may have left a part of the call behind
	repeated   bool                // the step is planned again although its call may still act
	file       *journal.Downloaded // that the step downloaded; nil if it downloaded none
	backup     string              // the volume of the backup that the step made
	noBackup   error               // why that volume is not known; nil if it is, or if the step made none
	warnings   []string            // lines of the logs of tasks that ended with warnings
}

// give adds the fingerprints of the secrets that a call set.
func (c *conclusion) give(fingerprints map[string]string) {
	if c.given == nil && len(fingerprints) > 0 {
		c.given = make(map[string]string, len(fingerprints))
	}
	maps.Copy(c.given, fingerprints)
}
