package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Withheld stands for a text of Proxmox about a call with a secret. Proxmox repeats parts of a request in its texts, in the encoding of the program that writes them, so no search for the
// secret finds every form of it.
const Withheld = "Proxmox's text is withheld, because the call had a secret"

// Public is what texts about a call with a secret may repeat: names of its parameters, values of those that are no secrets, and parts of its path. A nil Public is that of a call without
// a secret, whose texts are shown as they are.
type Public []string

// The parts of shapes. A name counts only if it is public.
const (
	lockWords  = `(?:backup|clone|create|destroyed|disk|fstrim|migrate|mounted|rollback|snapshot|snapshot-delete|suspended|suspending)`
	privileges = `(?:(?:VM|Datastore|Sys|SDN|Pool|Mapping)\.(?:Allocate|AllocateSpace|AllocateTemplate|Audit|Backup|Clone|Config\.(?:CDROM|CPU|Cloudinit|Disk|HWType|Memory|Network|Options)|` +
		`Migrate|Modify|PowerMgmt|Replicate|Snapshot|Snapshot\.Rollback|Use)\|?)+`
	digits = `[0-9]{1,5}`
	vmid   = `([0-9]{1,10})`
	name   = `([A-Za-z0-9._-]+)`
)

// shapes match whole texts of which it is known what stands in each place.
//
// Source: as for the patterns of package meaning; PVE::JSONSchema for parameters, PVE::UPID and PVE::RESTEnvironment for the ends of tasks.
var shapes = sync.OnceValue(func() []*regexp.Regexp {
	var list []*regexp.Regexp
	for _, shape := range []string{
		`OK`, `WARNINGS: ` + digits, `unexpected status`, `received interrupt`, `interrupted by signal`,
		`(?:VM|CT) is locked \(` + lockWords + `\)`,
		`(?:VM|CT) ` + vmid + ` (?:already|not) running`,
		`can't lock file '/var/lock/qemu-server/lock-` + vmid + `\.conf' - got timeout`,
		`can't lock file '/run/lock/lxc/pve-config-` + vmid + `\.lock' - got timeout`,
		`detected modified configuration - file changed by other user\? Try again\.`, `checksum mismatch \(file change by other user\?\)`,
		`cluster not ready - no quorum\?`, `got no worker upid - start worker failed`,
		`Permission check failed(?: \(/` + name + `(?:/` + name + `)?(?:/` + name + `)?(?:/` + name + `)?, ` + privileges + `\))?`,
		`[Oo]nly root can set '` + name + `' config`,
		`Configuration file 'nodes/` + name + `/(?:qemu-server|lxc)/` + vmid + `\.conf' does not exist`,
		`unable to find configuration file for VM ` + vmid + ` on node '` + name + `'`,
		`unable to create (?:VM|CT) ` + vmid + `: config file already exists`,
		`(?:unable to create (?:VM|CT) ` + vmid + ` - )?(?:VM|CT) ` + vmid + ` already exists on node '` + name + `'`,
		`storage '` + name + `' does not exist`,
		`hostname lookup '` + name + `' failed`,
		`iothread is only valid with virtio disk or virtio-scsi-single controller, ignoring`,
		`authentication failure`, `permission denied`, `Parameter verification failed\.`,
		`property is missing and it is not optional`, `property is not defined in schema and the schema does not allow additional properties`,
		`value (?:may only be|must be at least) ` + digits + ` characters long`, `value must have a (?:minimum|maximum) value of ` + digits,
	} {
		list = append(list, regexp.MustCompile(`^(?:`+shape+`)$`))
	}
	return list
})

// Shows returns a text of Proxmox as far as it may be shown: whole if it has a known shape, and otherwise Withheld.
func (p Public) Shows(text string) string {
	text = strings.TrimSpace(text)
	if p == nil || text == "" || p.isKnown(text) {
		return text
	}
	return Withheld
}

// Lines is Shows for each line of a text. Lines that are withheld one after the other count as one.
func (p Public) Lines(text string) string {
	if p == nil {
		return text
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, p.Shows(line))
	}
	return strings.Join(slices.Compact(lines), "\n")
}

func (p Public) isKnown(text string) bool {
	for _, shape := range shapes() {
		found := shape.FindStringSubmatch(text)
		if found != nil && !slices.ContainsFunc(found[1:], func(part string) bool { return !p.has(part) }) {
			return true
		}
	}
	for status := http.StatusContinue; status < 600; status++ {
		if known := http.StatusText(status); known != "" && known == text {
			return true
		}
	}
	return false
}

// has reports whether a part of a text is public. The fixed words of paths of permissions are.
func (p Public) has(part string) bool {
	return part == "" || slices.Contains([]string{"vms", "storage", "nodes", "pool", "sdn", "zones", "mapping", "access"}, part) ||
		slices.ContainsFunc(p, func(text string) bool {
			return text == part || strings.HasPrefix(text, part+":") || strings.HasPrefix(text, part+",")
		})
}

// withhold replaces every text of Proxmox that may repeat a secret.
func (e *APIError) withhold(public Public) {
	e.Reason, e.Message = public.Shows(e.Reason), public.Shows(e.Message)
	shown := make(map[string]string, len(e.Errors))
	for key, problem := range e.Errors {
		if !public.has(key) {
			key, problem = "a parameter", Withheld
		}
		shown[key] = public.Shows(problem)
	}
	e.Errors = shown
}

// Withhold removes what may repeat a secret from the error of an exchange: the texts of a reply, and those of a reply that cannot be read. Errors of the connection itself stay. The result
// still matches the same targets of errors.Is and errors.As.
func (x *Exchange) Withhold(err error) error {
	if x.Public == nil || err == nil {
		return err
	}
	var api *APIError
	if errors.As(err, &api) {
		api.withhold(x.Public)
		return err
	}
	var broken *BrokenError
	isConnection := !x.Done && (errors.As(err, &broken) && !broken.Sent || errors.As(err, new(*net.OpError)))
	for _, known := range []error{ErrTimeout, context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF} {
		isConnection = isConnection || !x.Done && errors.Is(err, known)
	}
	if isConnection {
		return err
	}
	return withheldError{err}
}

// withheldError is an error whose text may repeat a secret.
type withheldError struct{ err error }

func (withheldError) Error() string { return Withheld }

func (e withheldError) Unwrap() error { return e.err }
