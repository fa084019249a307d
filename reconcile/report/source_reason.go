package report

// SourceReason states whether the last fetch of the branch succeeded, and if not, why. It is a label of metrics. Except for SourceUnread, the values are
// those of fault.Fault, which this package does not import.
type SourceReason string

// Reasons of a fetch. SourceAnswers means that it succeeded.
const (
	SourceAnswers      SourceReason = "answers"
	SourceUnread       SourceReason = "unread"             // no fetch has ended since the start
	SourceUnreachable  SourceReason = "unreachable"        // no connection, or the name of the host is not known
	SourceTLS          SourceReason = "tls"                // the certificate, or the ssh host key, is not trusted
	SourceLate         SourceReason = "late"               // no reply in time
	SourceUnauthorized SourceReason = "unauthorized"       // 401 or 403, or the ssh key is not accepted
	SourceNotFound     SourceReason = "not-found"          // 404, or the repository does not have the branch
	SourceStatus       SourceReason = "status"             // another HTTP status
	SourceInvalid      SourceReason = "invalid"            // not a reply of a git repository, or not a complete one
	SourceIncomplete   SourceReason = "incomplete-history" // a shallow or damaged repository: it names commits or files that it does not have
	SourceBehind       SourceReason = "behind"             // an older commit than what another remote served
	SourceLocal        SourceReason = "local"              // the disk, a file of the configuration, or the store on this machine
)

// SourceReasons lists every reason, for metrics that start at zero.
func SourceReasons() []SourceReason {
	return []SourceReason{
		SourceAnswers, SourceUnread, SourceUnreachable, SourceTLS, SourceLate, SourceUnauthorized, SourceNotFound, SourceStatus, SourceInvalid,
		SourceIncomplete, SourceBehind, SourceLocal,
	}
}
