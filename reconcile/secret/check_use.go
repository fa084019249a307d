package secret

import (
	"gitops-agent/reconcile/guest"
)

// CheckUse returns why a secret cannot be sent to a guest of this kind and OS type, or nil.
func CheckUse(s guest.Secret, now State, kind guest.Kind, ostype string) *Error {
	problem := &Error{Name: s.File, Hint: "put the password itself into the file, or a hash that mkpasswd -m sha-512 made"}
	switch {
	case now.Problem != nil:
		return now.Problem
	case kind == guest.Container && now.Form == LongHash:
		problem.Reason = "Proxmox would use this kind of hash as the password of a container"
	case needsPlain(ostype) && (now.Form == Hash || now.Form == LongHash):
		problem.Reason = "the file holds a hash, and Windows needs the password itself"
		problem.Hint = "put the password itself into the file"
	default:
		return nil
	}
	return problem
}

// needsPlain reports whether a guest of this OS type needs the password itself: Windows cannot use a hash.
//
// Source: PVE API, windows_version of QemuServer/Helpers.pm: every type that begins with w.
func needsPlain(ostype string) bool { return len(ostype) > 0 && ostype[0] == 'w' }

// OSTypeOf returns the OS type of a live virtual machine; "" for a container, whose password does not depend on it.
func OSTypeOf(live guest.Observed) string {
	if live.Kind == guest.Container {
		return ""
	}
	return live.Keys["ostype"].Text
}

// WantedOSType returns the OS type in the manifest of a virtual machine, "" if the manifest names none.
func WantedOSType(d *guest.Desired) string {
	for _, in := range d.Intents {
		if in.Key == "ostype" && in.Verb == guest.Want && d.Kind == guest.VirtualMachine {
			return in.Text
		}
	}
	return ""
}

// OSTypeChanges reports whether the plan changes the OS type so that the guest needs its password in another form. The password is sent
// after that change, since Proxmox hashes a password by the OS type that the guest has when the password arrives.
func OSTypeChanges(d *guest.Desired, live guest.Observed) bool {
	wanted := WantedOSType(d)
	return wanted != "" && needsPlain(wanted) != needsPlain(OSTypeOf(live))
}
