package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/operation"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// verdict is what the API server says to the creation of one object, its status included.
type verdict struct {
	Allowed bool    `json:"allowed"`
	Causes  []cause `json:"causes"`
	// Defaulted is the object after pruning and defaulting, as the rules saw it.
	Defaulted map[string]any `json:"defaulted,omitempty"`
	// UnknownFields are the paths that pruning removed.
	UnknownFields []string `json:"unknownFields"`
}

type cause struct {
	Path    string `json:"path"`
	Type    string `json:"type"`
	Message string `json:"message"`
}

// judge is one served version of a CRD.
type judge struct {
	namespaced bool
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

type judges map[schema.GroupVersionKind]judge

// judge decides on an object in JSON. Integers are decoded to int64, as the API server does:
// CEL would call a float64 in an integer field a type error.
func (all judges) judge(line []byte) verdict {
	object := map[string]any{}
	if err := json.Unmarshal(line, &object); err != nil {
		return refusal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	j, known := all[u.GroupVersionKind()]
	if !known {
		return refusal(fmt.Errorf("no CRD serves %s", u.GroupVersionKind()))
	}
	meta, unknown, err := j.decode(u)
	if err != nil {
		return refusal(err)
	}
	v := verdict{Causes: []cause{}, Defaulted: u.Object, UnknownFields: unknown}
	for _, e := range j.validate(u.Object, meta) {
		v.Causes = append(v.Causes, cause{Path: pathOf(e), Type: string(e.Type), Message: e.Detail})
	}
	v.Allowed = len(v.Causes) == 0
	return v
}

// decode does what the API server does between the request's bytes and admission: it checks and
// prunes metadata, prunes unknown fields and nulls, and sets defaults. It returns the
// metadata and the paths that it pruned.
func (j judge) decode(u *unstructured.Unstructured) (*metav1.ObjectMeta, []string, error) {
	apiVersion, kind := u.GetAPIVersion(), u.GetKind()
	meta, hasMeta, unknown, err := objectmeta.GetObjectMetaWithOptions(u.Object,
		objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, nil, err
	}
	pruned := pruning.PruneWithOptions(u.Object, j.structural, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(u.Object, j.structural)
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	if hasMeta {
		if err := objectmeta.SetObjectMeta(u.Object, meta); err != nil {
			return nil, nil, err
		}
	}
	defaulting.Default(u.Object, j.structural)
	return meta, append(append([]string{}, unknown...), pruned...), nil
}

// validate finds every reason to refuse the object, in the order of the API server's strategy for
// custom resources: errors of shape keep the CEL rules from running, and metadata has a second
// examination where all else is well.
func (j judge) validate(object map[string]any, meta *metav1.ObjectMeta) field.ErrorList {
	ctx, metaPath := context.Background(), field.NewPath("metadata")
	errs := metavalidation.ValidateObjectMetaDeclaratively(ctx, operation.Create, meta, nil, j.namespaced,
		metavalidation.NameIsDNSSubdomain, metaPath, true)
	errs = append(errs, validation.ValidateCustomResource(nil, object, j.schema)...)
	errs = append(errs, objectmeta.Validate(ctx, nil, object, j.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, j.structural, object)...)
	if j.rules != nil && !slices.ContainsFunc(errs, isOfShape) {
		broken, _ := j.rules.Validate(ctx, nil, j.structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	if len(errs) == 0 {
		errs = metavalidation.ValidateObjectMeta(meta, j.namespaced, metavalidation.NameIsDNSSubdomain, metaPath)
	}
	return errs
}

// isOfShape tells the errors after which CEL rules would meet types they were not compiled for.
func isOfShape(e *field.Error) bool {
	switch e.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong,
		field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
		return true
	default:
		return false
	}
}

// refusal is the verdict on what is refused before its fields are looked at.
func refusal(err error) verdict {
	return verdict{Causes: []cause{{Type: "Decode", Message: err.Error()}}, UnknownFields: []string{}}
}

// pathOf is the field of an error. Where the validator names it in its message alone, as it does
// for integer formats and for oneOf and anyOf, it is taken from there.
func pathOf(e *field.Error) string {
	if e.Field != "<nil>" {
		return e.Field
	}
	if quoted, err := strconv.QuotedPrefix(e.Detail); err == nil {
		return quoted[1 : len(quoted)-1]
	}
	_, path, _ := strings.Cut(e.Detail, " in ")
	return path
}
