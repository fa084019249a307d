package journal

// MaxAppend bounds the records of one Append call: bytes as encoded in a commit. It leaves room for an acceptance with its orders and
// the lifecycle rules of more than 20,000 guests with the longest names. Package manifest bounds the guarded firewalls of a revision to half of it.
const MaxAppend = 8 << 20

const (
	// sharedCommit bounds the commits that several Append calls share. A single call may be larger; it then has a commit of its own.
	sharedCommit = 1 << 20
	// maxPayload bounds the payload of a frame in a file of version 1. No release reads more from such a file.
	maxPayload = 2 << 20
	// maxLargePayload bounds the payload of a frame in a file of version 2.
	maxLargePayload = MaxAppend + payloadRoom
)
