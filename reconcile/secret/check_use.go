package secret

import (
	"gitops-agent/reconcile/guest"
) // Misfit returns why a secret cannot be sent to this guest, or nil.
func CheckUse(s guest.Secret, now State, kind guest.Kind, ostype string) *Error {
	problem := &Error{Name: s.File, Hint: "put the password itself into the file, or a hash that mkpasswd -m sha-512 made"}
	switch {
	case now.Problem != nil:
		return now.Problem
	case kind == guest.Container && now.Form == LongHash:
		problem.Reason = "Proxmox would take this kind of hash for the password of a container"
	case needsPlain(ostype) && (now.Form == Hash || now.Form == LongHash):
		problem.Reason = "the file holds a hash, and Windows needs the password itself"
		problem.Hint = "put the password itself into the file"
	default:
		return nil
	}
	return problem
}

// wantsPlain reports whether a guest of this type is given a password as it is: Windows cannot use a hash.
//
// Source: PVE API, windows_version of QemuServer/Helpers.pm: every type that begins with w.
func needsPlain(ostype string) bool { return len(ostype) > 0 && ostype[0] == 'w' }

func OSTypeOf(live guest.Observed) string {
	if live.Kind == guest.Container {
		return ""
	}
	return live.Keys["ostype"].Text
}

// WantedOSType returns the type that a virtual machine's manifest asks for, "" where it does not.
func WantedOSType(d *guest.Desired) string {
	for _, in := range d.Intents {
		if in.Key == "ostype" && in.Verb == guest.Want && d.Kind == guest.VirtualMachine {
			return in.Text
		}
	}
	return ""
}

// OstypeChanges reports whether the guest is about to need its password in another form. It gets it after that change, since
// Proxmox hashes a password by the type that the guest has when it arrives.
func OSTypeChanges(d *guest.Desired, live guest.Observed) bool {
	wanted := WantedOSType(d)
	return wanted != "" && needsPlain(wanted) != needsPlain(OSTypeOf(live))
}
