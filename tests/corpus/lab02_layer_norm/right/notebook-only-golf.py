import torch as t
n=t.nn;P=n.Parameter
S=lambda s:(s,)if isinstance(s,int)else tuple(s)
class LayerNorm(n.Module):
    def __init__(s,normalized_shape,eps=1e-5,elementwise_affine=True):
        super().__init__();s.s=z=S(normalized_shape);s.e=eps;a=elementwise_affine
        s.weight=P(t.ones(z))if a else None;s.bias=P(t.zeros(z))if a else None
    def forward(s,x):
        if x.shape[-len(s.s):]!=s.s:raise ValueError
        d=tuple(range(-len(s.s),0));c=x-x.mean(d,True);h=c/((c*c).mean(d,True)+s.e)**.5
        return h if s.weight is None else h*s.weight+s.bias
def layer_norm_backward(grad_out,x,weight,eps=1e-5):
    m=lambda a:a.mean(-1,True);c=x-m(x);r=(m(c*c)+eps)**-.5;h=c*r;g=grad_out*weight
    return r*(g-m(g)-h*m(g*h)),(grad_out*h).flatten(0,-2).sum(0),grad_out.flatten(0,-2).sum(0)
class RMSNorm(n.Module):
    def __init__(s,normalized_shape,eps=None,elementwise_affine=True):
        super().__init__();s.s=z=S(normalized_shape);s.e=eps
        s.weight=P(t.ones(z))if elementwise_affine else None
    def forward(s,x):
        e=t.finfo(x.dtype).eps if s.e is None else s.e
        h=x/((x*x).mean(tuple(range(-len(s.s),0)),True)+e)**.5
        return(h if s.weight is None else h*s.weight).to(x.dtype)
