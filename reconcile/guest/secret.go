package guest

// Secret is a native key whose value is kept in a file on the agent's host, and never in a repository, a plan, a log or the
// journal.
type Secret struct {
	Key    string // cipassword, password
	File   string // name within the agent's directory of secrets
	Origin Origin
}
