// Package access decides who may read the status page: which names a request may use for the host, which credentials it needs, and how the connection
// is encrypted. The file with TLS and users has the format that the exporters of Prometheus share. Commands on the agent's host need none of these: they use a socket in the state directory,
// which the owner of the directory and root alone can reach, and check who listens there.
package access
