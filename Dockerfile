# Builds gitops-agent as a static binary and ships it alone, with certificate authorities, as a user without rights.
#   docker build -t gitops-agent .
#   docker run -p 127.0.0.1:9746:9746 -v /etc/gitops-agent:/etc/gitops-agent:ro -v gitops-agent:/var/lib/gitops-agent gitops-agent run
# In a container the config has to say listen: 0.0.0.0:9746, since the default listens on the container's own loopback alone, and how clients log in, or, if
# the port is published as above, status: {unauthenticated: true}. See docs/access.md.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/gitops-agent ./cmd/gitops-agent
RUN mkdir -p /out/state

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/gitops-agent /usr/bin/gitops-agent
COPY --from=build --chown=65532:65532 /out/state /var/lib/gitops-agent
USER 65532:65532
VOLUME /var/lib/gitops-agent
EXPOSE 9746
ENTRYPOINT ["/usr/bin/gitops-agent"]
CMD ["run"]
