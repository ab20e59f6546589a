// Package driver is a CSI driver that stores nothing. It has no state: a volume's handle is its
// name, and its size is the requested size. The driver may therefore be killed at any time.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trueup-go/trueup/test/harness/storage"
)

// again is the time between two looks at the settings while a call hangs.
const again = 50 * time.Millisecond

// Serve serves the driver in the working directory, the cluster's folder, until ctx ends.
func Serve(ctx context.Context, log logr.Logger) error {
	// The file of a socket outlives the listening process.
	if err := os.Remove(storage.SocketFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot listen: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", storage.SocketFile)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	server := grpc.NewServer()
	csi.RegisterIdentityServer(server, identity{})
	csi.RegisterControllerServer(server, controller{log: log})
	context.AfterFunc(ctx, server.Stop)
	return server.Serve(listener)
}

type identity struct {
	csi.UnimplementedIdentityServer
}

func (identity) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: storage.Driver, VendorVersion: "1"}, nil
}

func (identity) GetPluginCapabilities(
	context.Context, *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{{
		Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{
			Type: csi.PluginCapability_Service_CONTROLLER_SERVICE,
		}},
	}}}, nil
}

func (identity) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

type controller struct {
	csi.UnimplementedControllerServer

	log logr.Logger
}

func (controller) ControllerGetCapabilities(
	context.Context, *csi.ControllerGetCapabilitiesRequest,
) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	for _, capability := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_EXPAND_VOLUME,
	} {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: capability}},
		})
	}
	return answer, nil
}

func (c controller) CreateVolume(_ context.Context, request *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	size := request.GetCapacityRange().GetRequiredBytes()
	c.log.Info("created a volume", "volume", request.GetName(), "bytes", size)
	return &csi.CreateVolumeResponse{Volume: &csi.Volume{VolumeId: request.GetName(), CapacityBytes: size}}, nil
}

func (c controller) DeleteVolume(_ context.Context, request *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	c.log.Info("deleted a volume", "volume", request.GetVolumeId())
	return &csi.DeleteVolumeResponse{}, nil
}

func (controller) ValidateVolumeCapabilities(
	_ context.Context, request *csi.ValidateVolumeCapabilitiesRequest,
) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	return &csi.ValidateVolumeCapabilitiesResponse{
		Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{VolumeCapabilities: request.GetVolumeCapabilities()},
	}, nil
}

// ControllerExpandVolume fails as the settings demand. After a success, the node has to do its
// part.
func (c controller) ControllerExpandVolume(
	ctx context.Context, request *csi.ControllerExpandVolumeRequest,
) (*csi.ControllerExpandVolumeResponse, error) {
	size := request.GetCapacityRange().GetRequiredBytes()
	err := expand(ctx, request.GetVolumeId(), size)
	c.log.Info("expanded a volume", "volume", request.GetVolumeId(), "bytes", size, "failure", status.Convert(err).Message())
	if err != nil {
		return nil, err
	}
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: size, NodeExpansionRequired: true}, nil
}

// expand waits as long as the settings make the volume hang, and returns the failure, if any.
func expand(ctx context.Context, volume string, size int64) error {
	ticker := time.NewTicker(again)
	defer ticker.Stop()
	for {
		settings, err := storage.Read(".")
		if err != nil {
			return status.Error(codes.Unavailable, err.Error())
		}
		failure := settings.Failure(volume, size)
		if !failure.Hang {
			return status.Error(failure.Code, failure.Message) // which is nil if that is codes.OK
		}
		select {
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-ticker.C:
		}
	}
}
