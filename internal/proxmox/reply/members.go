package reply

import (
	"encoding/json"
	"slices"
)

// Member is a row of /cluster/status. One row is the cluster, if there is one; the other rows are nodes.
type Member struct {
	Type    string `json:"type"`
	Name    Scalar `json:"name"`
	Quorate Scalar `json:"quorate"`
}

// LacksQuorum reports whether the row is that of a cluster, and the node that answers is in a part of it without quorum.
func (m Member) LacksQuorum() bool { return m.Type == "cluster" && !m.Quorate.Flag() }

// LacksQuorum reports whether a reply of /cluster/status comes from a node that is in a part of the cluster without quorum.
func LacksQuorum(body string) bool {
	var reply struct {
		Data []Member `json:"data"`
	}
	return json.Unmarshal([]byte(body), &reply) == nil && slices.ContainsFunc(reply.Data, Member.LacksQuorum)
}
