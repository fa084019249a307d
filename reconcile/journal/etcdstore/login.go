package etcdstore

import (
	"context"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// authenticate is the method by which the library exchanges the password for a token.
const authenticate = "/etcdserverpb.Auth/Authenticate"

// openAs makes the client of a user. It asks for tokens by a connection of its own. The library would send the former token with this request, too, and a server of
// the release 3.4 refuses a request with a token that has ended, so that no request of the client would ever succeed again.
//
// While the library makes the client, it asks for a token and fails without an answer of etcd. It gets the answer that etcd has no users, and asks again when a request
// is refused.
//
// Source: etcd 3.4.23, EtcdServer.Authenticate; client 3.7.3, Client.getToken and shouldRefreshToken.
func (c *Client) openAs(config clientv3.Config) error {
	anonymous := config
	anonymous.Username, anonymous.Password = "", ""
	var err error
	if c.login, err = clientv3.New(anonymous); err != nil {
		return err
	}
	var isOpen atomic.Bool
	config.DialOptions = []grpc.DialOption{grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			switch {
			case method != authenticate:
				return invoke(ctx, method, request, reply, cc, opts...)
			case !isOpen.Load():
				return rpctypes.ErrGRPCAuthNotEnabled
			default:
				return c.login.ActiveConnection().Invoke(ctx, method, request, reply, opts...)
			}
		},
	)}
	if c.etcd, err = clientv3.New(config); err != nil {
		_ = c.login.Close()
		return err
	}
	isOpen.Store(true)
	return nil
}
