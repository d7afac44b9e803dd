import torch as t
from torch import nn
def statistics_shape(kind,n,l,c,num_groups=None):return{'batch':(c,),'layer':(n,),'token':(n,l),'group':(n,num_groups)}[kind]
def h(x,G,e):r=x.reshape(len(x),G,-1);d=r-r.mean(2,True);s=(d.square().mean(2,True)+e)**-.5;return d*s,s
def v(p,x):return p.view(-1,*x[0,0].ndim*[1])
class GroupNorm(nn.Module):
    def __init__(s,num_groups,num_channels,eps=1e-5,affine=True):
        super().__init__();s.G,s.C,s.e=num_groups,num_channels,eps
        if s.C%s.G:raise ValueError
        s.weight,s.bias=[nn.Parameter(t.full((s.C,),a))if affine else None for a in(1.,0.)]
    def forward(s,x):
        if x.ndim<2 or x.size(1)!=s.C:raise ValueError
        y=h(x,s.G,s.e)[0].reshape(x.shape);return y if s.weight is None else t.addcmul(v(s.bias,x),v(s.weight,x),y)
class InstanceNorm2d(GroupNorm):
    def __init__(s,num_features,eps=1e-5,affine=False):super().__init__(num_features,num_features,eps,affine)
    def forward(s,x):
        if x.ndim!=4 or x[0,0].numel()<2:raise ValueError
        return super().forward(x)
def group_norm_backward(grad_out,x,num_groups,weight,eps=1e-5):
    k,s=h(x,num_groups,eps);g=(grad_out*v(weight,x)).reshape(k.shape);f=lambda z:z.transpose(0,1).flatten(1).sum(1)
    return(s*(g-g.mean(2,True)-k*(g*k).mean(2,True))).reshape(x.shape),f(grad_out*k.reshape(x.shape)),f(grad_out)
