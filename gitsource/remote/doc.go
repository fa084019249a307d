// Package remote speaks the git protocol with one place that serves a repository: over https, over ssh, or with the git program on this machine. It
// trusts nothing that it reads, and stores nothing.
//
// A Config is what the operator wrote. Parse checks it, refuses unsafe URLs and returns a Remote. Remote.Dial begins a Session, which reads the refs
// (ReadRefs) and then at most one pack (RequestPack). Session.End closes everything.
//
// Every read obeys the context and the bytes that the caller allows. Redirects to another host are refused. Keys, tokens and certificates are read
// from files for each session and are never logged. An error whose cause is known here has a fault, see package fault.
//
// The tests of sessions are in package gitsource: they fetch from real servers.
package remote
