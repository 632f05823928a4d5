package main

import (
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// loadJudges makes a judge of every served version of the CRDs in the files.
func loadJudges(files []string) (judges, error) {
	all := judges{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for i := range crd.Spec.Versions {
			if version := &crd.Spec.Versions[i]; version.Served {
				gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
				if all[gvk], err = newJudge(crd.Spec.Scope, version); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", file, gvk, err)
				}
			}
		}
	}
	return all, nil
}

func newJudge(
	scope apiextensionsv1.ResourceScope, version *apiextensionsv1.CustomResourceDefinitionVersion,
) (judge, error) {
	internal := &apiextensions.CustomResourceValidation{}
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil)
	if err != nil {
		return judge{}, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return judge{}, err
	}
	structural = structural.DeepCopy()
	if err := defaulting.PruneDefaults(structural); err != nil {
		return judge{}, err
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		return judge{}, err
	}
	return judge{
		namespaced: scope == apiextensionsv1.NamespaceScoped,
		structural: structural,
		schema:     validator,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}, nil
}
