// SPDX-License-Identifier: Apache-2.0

// A provider for Terraform and OpenTofu that has the schemas of a cloud's own, and no cloud: what is
// planned is accepted, what is applied is made up. It is called terraform-provider-NAME, and reads
// NAME.json in the folder that TERRAFORM_CHECK_SCHEMAS names.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
)

type schemas struct {
	Provider blockJSON            `json:"provider"`
	Resource map[string]blockJSON `json:"resource"`
	Data     map[string]blockJSON `json:"data"`
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func main() {
	name := strings.TrimPrefix(filepath.Base(os.Args[0]), "terraform-provider-")
	folder := os.Getenv("TERRAFORM_CHECK_SCHEMAS")
	var known schemas
	if err := read(filepath.Join(folder, name+".json"), &known); err != nil {
		log.Fatal(err)
	}
	stub := &stub{
		provider: known.Provider.schema(),
		resource: map[string]*tfprotov6.Schema{},
		data:     map[string]*tfprotov6.Schema{},
		values:   map[string]map[string]string{},
	}
	if err := read(filepath.Join(folder, "values.json"), &stub.values); err != nil {
		log.Fatal(err)
	}
	for each, block := range known.Resource {
		stub.resource[each] = block.schema()
	}
	for each, block := range known.Data {
		stub.data[each] = block.schema()
	}
	server := func() tfprotov6.ProviderServer { return stub }
	if err := tf6server.Serve("registry.terraform.io/hashicorp/"+name, server); err != nil {
		log.Fatal(err)
	}
}

// What has no plan of its own to make says nothing.
type stub struct {
	tfprotov6.ProviderServer // nil: a call that is not below is an error of this program
	provider                 *tfprotov6.Schema
	resource                 map[string]*tfprotov6.Schema
	data                     map[string]*tfprotov6.Schema
	values                   map[string]map[string]string // by resource and attribute, where a made-up one will not do
}

func (s *stub) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (
	*tfprotov6.GetMetadataResponse, error) {
	answer := &tfprotov6.GetMetadataResponse{ServerCapabilities: &tfprotov6.ServerCapabilities{}}
	for name := range s.resource {
		answer.Resources = append(answer.Resources, tfprotov6.ResourceMetadata{TypeName: name})
	}
	for name := range s.data {
		answer.DataSources = append(answer.DataSources, tfprotov6.DataSourceMetadata{TypeName: name})
	}
	return answer, nil
}

func (s *stub) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (
	*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		ServerCapabilities: &tfprotov6.ServerCapabilities{},
		Provider:           s.provider,
		ResourceSchemas:    s.resource,
		DataSourceSchemas:  s.data,
	}, nil
}

func (s *stub) GetResourceIdentitySchemas(context.Context,
	*tfprotov6.GetResourceIdentitySchemasRequest) (
	*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{}, nil
}

func (s *stub) ValidateProviderConfig(_ context.Context,
	r *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: r.Config}, nil
}

func (s *stub) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (
	*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (s *stub) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (
	*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (s *stub) ValidateResourceConfig(context.Context, *tfprotov6.ValidateResourceConfigRequest) (
	*tfprotov6.ValidateResourceConfigResponse, error) {
	return &tfprotov6.ValidateResourceConfigResponse{}, nil
}

func (s *stub) ValidateDataResourceConfig(context.Context,
	*tfprotov6.ValidateDataResourceConfigRequest) (
	*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}
